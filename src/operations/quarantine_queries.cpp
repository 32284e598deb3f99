#include "operations/quarantine_queries.hpp"

#include "event/headers.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/event_columns.hpp"
#include "inbox/value_of.hpp"
#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Effect = inbox::Connection::Access::Effect;
using Type = inbox::ArrayParameter::Type;

pqxx::params parameters_of(const QuarantineFilter& filter) {
  return pqxx::params{like_patterns(filter.topics), like_patterns(filter.reasons), filter.received.since,
                      filter.received.until};
}

RawRecord read_raw(inbox::RowReader row) {
  return {row.int8(),        row.int4(),        row.text(),        row.int4(), row.int8(), row.text(),
          row.maybe_bytes(), row.maybe_bytes(), row.maybe_bytes(), row.maybe_int8()};
}

Document find(inbox::Connection& connection, const pqxx::params& parameters) {
  return list_rows(connection, inbox::statements::op_quarantine_find, parameters, columns::quarantined_record,
                   Extent::whole);
}

}  // namespace

Document list_quarantined(inbox::Connection& connection, const QuarantineFilter& filter, std::int64_t limit,
                          std::optional<std::int64_t> before) {
  return list_rows(connection, inbox::statements::op_quarantine_list,
                   pqxx::params{parameters_of(filter), limit, before}, columns::quarantined_record);
}

Document group_quarantined(inbox::Connection& connection, const QuarantineFilter& filter, std::int64_t limit) {
  return list_rows(connection, inbox::statements::op_quarantine_groups, pqxx::params{parameters_of(filter), limit},
                   columns::quarantine_group);
}

Document find_quarantined(inbox::Connection& connection, std::int64_t quarantine_id) {
  return find(connection, pqxx::params{quarantine_id, nullptr, nullptr, nullptr});
}

Document find_quarantined(inbox::Connection& connection, const std::string& topic, std::int32_t partition,
                          std::int64_t offset) {
  return find(connection, pqxx::params{nullptr, topic, partition, offset});
}

std::vector<PickedRecord> pick_quarantined(inbox::Connection& connection, const QuarantineFilter& filter,
                                           std::int64_t limit) {
  pqxx::params parameters{parameters_of(filter)};
  if (filter.quarantine_ids.empty())
    parameters.append();
  else
    parameters.append(array_parameter(filter.quarantine_ids));
  parameters.append(limit);
  return read_all(connection, inbox::statements::op_quarantine_pick, parameters,
                  [](auto row) { return PickedRecord{row.int8(), row.text(), row.int8(), row.flag()}; });
}

event::Record record_of(const RawRecord& raw) {
  const auto view = [](const std::optional<std::string>& bytes) {
    return bytes ? event::MaybeBytes{*bytes} : std::nullopt;
  };
  event::Record out;
  out.topic = raw.topic;
  out.partition = raw.partition;
  out.offset = raw.offset;
  out.key = view(raw.key);
  out.payload = view(raw.payload);
  if (raw.headers) out.headers = event::unpack_headers(*raw.headers);
  out.timestamp = raw.kafka_timestamp;
  return out;
}

std::vector<RawRecord> read_quarantined(inbox::Connection& connection,
                                        const std::vector<std::int64_t>& quarantine_ids) {
  return read_all(connection, inbox::statements::op_quarantine_read, pqxx::params{array_parameter(quarantine_ids)},
                  read_raw);
}

std::vector<RawRecord> read_undecoded(inbox::Connection& connection, const std::vector<std::int64_t>& dead_letter_ids,
                                      const std::vector<std::string>& topics) {
  inbox::ArrayParameter names{Type::text};
  for (const std::string& topic : topics) names.add(topic);
  return read_all(connection, inbox::statements::op_dead_undecoded,
                  pqxx::params{array_parameter(dead_letter_ids), names.finish()}, read_raw);
}

std::vector<std::string> topics_of_undecoded(inbox::Connection& connection,
                                             const std::vector<std::int64_t>& dead_letter_ids) {
  return read_all(connection, inbox::statements::op_dead_undecoded_topics,
                  pqxx::params{array_parameter(dead_letter_ids)}, [](auto row) { return row.text(); });
}

std::vector<KnownId> find_known(inbox::Connection& connection, const std::vector<base::Uuid>& event_ids) {
  return read_all(connection, inbox::statements::op_quarantine_known, pqxx::params{array_parameter(event_ids)},
                  [](auto row) { return KnownId{row.uuid(), row.int8()}; });
}

std::optional<Retried> retry_quarantined(inbox::Connection& connection, const RereadRecords& records,
                                         const Deed& deed) {
  inbox::LedgerColumns ledger{records.events};
  inbox::ArrayParameter shard{Type::int4}, kafka{Type::timestamptz}, deliver_at{Type::timestamptz},
      still_id{Type::int8}, reason{Type::text}, detail{Type::text};
  inbox::EventColumns columns{records.events.size()};
  for (const event::Event& event : records.events) {
    shard.add(event.shard_id);
    columns.add(event);
    kafka.add_time(event.kafka_timestamp);
    deliver_at.add_time(event.deliver_at);
  }
  for (const StillQuarantined& record : records.still) {
    still_id.add(record.quarantine_id);
    reason.add(record.reason);
    detail.add(record.detail);
  }
  pqxx::params parameters{deed.actor, deed.asked, array_parameter(records.quarantine_ids), ledger.repeats};
  for (inbox::ArrayParameter* const array : ledger.in_order()) parameters.append(array->finish());
  parameters.append(shard.finish());
  for (inbox::ArrayParameter* const array : columns.in_order()) parameters.append(array->finish());
  for (inbox::ArrayParameter* const array : {&kafka, &deliver_at, &still_id, &reason, &detail}) {
    parameters.append(array->finish());
  }
  const auto rows = connection.access().run(inbox::statements::op_quarantine_retry, parameters, Effect::writes);
  if (inbox::value_of<bool>(rows[0][0].view(), {{"stored", false}, {"gone", true}})) return std::nullopt;
  return Retried{rows[0][1].as<std::int64_t>(), rows[0][2].as<std::int64_t>(), rows[0][3].as<std::int64_t>()};
}

std::int64_t discard_quarantined(inbox::Connection& connection, const std::vector<std::int64_t>& quarantine_ids,
                                 const Deed& deed) {
  const pqxx::params parameters{array_parameter(quarantine_ids), deed.actor, deed.asked};
  const auto rows = connection.access().run(inbox::statements::op_quarantine_discard, parameters, Effect::writes);
  return rows[0][0].as<std::int64_t>();
}

void note_fed(inbox::Connection& connection) {
  connection.access().run(inbox::statements::op_handlers_fed, pqxx::params{});
}

}  // namespace inboxd::operations
