#include "operations/quarantine_queries.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/event_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Effect = inbox::Connection::Access::Effect;
using Type = inbox::ArrayParameter::Type;

QuarantinedEntry read_entry(inbox::RowReader row, bool whole) {
  QuarantinedEntry out;
  out.quarantine_id = row.int8();
  out.reason = row.text();
  out.detail = row.text();
  out.event_id = row.maybe_uuid();
  out.payload_size = row.int8();
  out.digest = row.int8();
  out.topic = row.text();
  out.partition = row.int4();
  out.offset = row.int8();
  out.key = row.maybe_bytes();
  out.kafka_timestamp = row.maybe_int8();
  out.received_at = row.int8();
  if (!whole) {
    out.key_is_cut = cut_key(out.key);
  } else {
    out.payload = row.maybe_bytes();
    out.headers = row.maybe_bytes();
  }
  return out;
}

RawRecord read_raw(inbox::RowReader row) {
  RawRecord out;
  out.quarantine_id = row.int8();
  out.shard_id = row.int4();
  out.topic = row.text();
  out.partition = row.int4();
  out.offset = row.int8();
  out.log_id = row.text();
  out.key = row.maybe_bytes();
  out.payload = row.maybe_bytes();
  out.headers = row.maybe_bytes();
  out.kafka_timestamp = row.maybe_int8();
  return out;
}

std::vector<QuarantinedEntry> find(inbox::Connection& connection, const pqxx::params& parameters) {
  std::vector<QuarantinedEntry> out;
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_quarantine_find, parameters)) {
    out.push_back(read_entry(inbox::RowReader{row}, true));
  }
  return out;
}

}  // namespace

std::vector<QuarantinedEntry> list_quarantined(inbox::Connection& connection, const QuarantineFilter& filter,
                                               std::int64_t limit) {
  auto topics = like_patterns(filter.topics);
  auto reasons = like_patterns(filter.reasons);
  const pqxx::params parameters{topics.finish(), reasons.finish(), filter.received.since, filter.received.until, limit};
  std::vector<QuarantinedEntry> out;
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_quarantine_list, parameters)) {
    out.push_back(read_entry(inbox::RowReader{row}, false));
  }
  return out;
}

std::vector<QuarantinedEntry> find_quarantined(inbox::Connection& connection, std::int64_t quarantine_id) {
  return find(connection, pqxx::params{quarantine_id, nullptr, nullptr, nullptr});
}

std::vector<QuarantinedEntry> find_quarantined(inbox::Connection& connection, const std::string& topic,
                                               std::int32_t partition, std::int64_t offset) {
  return find(connection, pqxx::params{nullptr, topic, partition, offset});
}

std::vector<PickedRecord> pick_quarantined(inbox::Connection& connection, const QuarantineFilter& filter,
                                           std::int64_t limit) {
  auto topics = like_patterns(filter.topics);
  auto reasons = like_patterns(filter.reasons);
  auto ids = inbox::array_of(Type::int8, filter.quarantine_ids);
  pqxx::params parameters{topics.finish(), reasons.finish(), filter.received.since, filter.received.until};
  if (filter.quarantine_ids.empty())
    parameters.append();
  else
    parameters.append(ids.finish());
  parameters.append(limit);
  std::vector<PickedRecord> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_quarantine_pick, parameters)) {
    inbox::RowReader row{found};
    PickedRecord record;
    record.quarantine_id = row.int8();
    record.topic = row.text();
    record.bytes = row.int8();
    record.was_kept = row.flag();
    out.push_back(std::move(record));
  }
  return out;
}

std::vector<RawRecord> read_quarantined(inbox::Connection& connection,
                                        const std::vector<std::int64_t>& quarantine_ids) {
  auto ids = inbox::array_of(Type::int8, quarantine_ids);
  std::vector<RawRecord> out;
  for (const auto& row :
       inbox::run_read(connection, inbox::statements::op_quarantine_read, pqxx::params{ids.finish()})) {
    out.push_back(read_raw(inbox::RowReader{row}));
  }
  return out;
}

std::vector<KnownId> find_known(inbox::Connection& connection, const std::vector<base::Uuid>& event_ids) {
  auto ids = inbox::array_of(Type::uuid, event_ids);
  std::vector<KnownId> out;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_quarantine_known, pqxx::params{ids.finish()})) {
    inbox::RowReader row{found};
    KnownId known;
    known.event_id = row.uuid();
    known.digest = row.int8();
    out.push_back(known);
  }
  return out;
}

std::optional<Retried> retry_quarantined(inbox::Connection& connection, const RereadRecords& records,
                                         const Deed& deed) {
  auto ids = inbox::array_of(Type::int8, records.quarantine_ids);
  inbox::LedgerColumns ledger{records.events};
  inbox::ArrayParameter shard{Type::int4}, kafka{Type::timestamptz}, still_id{Type::int8}, reason{Type::text},
      detail{Type::text};
  inbox::EventColumns columns{records.events.size()};
  for (const event::Event& event : records.events) {
    shard.add(event.shard_id);
    columns.add(event);
    kafka.add_time(event.kafka_timestamp);
  }
  for (const StillQuarantined& record : records.still) {
    still_id.add(record.quarantine_id);
    reason.add(record.reason);
    detail.add(record.detail);
  }
  pqxx::params parameters{deed.actor, deed.asked, ids.finish(), ledger.repeats};
  for (inbox::ArrayParameter* const array : ledger.in_order()) parameters.append(array->finish());
  parameters.append(shard.finish());
  for (inbox::ArrayParameter* const array : columns.in_order()) parameters.append(array->finish());
  for (inbox::ArrayParameter* const array : {&kafka, &still_id, &reason, &detail}) parameters.append(array->finish());
  const auto rows = connection.access().run(inbox::statements::op_quarantine_retry, parameters, Effect::writes);
  if (rows[0][0].view() == "gone") return std::nullopt;
  return Retried{rows[0][1].as<std::int64_t>(), rows[0][2].as<std::int64_t>(), rows[0][3].as<std::int64_t>()};
}

std::int64_t discard_quarantined(inbox::Connection& connection, const std::vector<std::int64_t>& quarantine_ids,
                                 const Deed& deed) {
  auto ids = inbox::array_of(Type::int8, quarantine_ids);
  const auto rows = connection.access().run(inbox::statements::op_quarantine_discard,
                                            pqxx::params{ids.finish(), deed.actor, deed.asked}, Effect::writes);
  return rows[0][0].as<std::int64_t>();
}

void note_fed(inbox::Connection& connection) {
  connection.access().run(inbox::statements::op_handlers_fed, pqxx::params{});
}

}  // namespace inboxd::operations
