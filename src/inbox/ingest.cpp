#include "inbox/ingest.hpp"

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/event_columns.hpp"
#include "inbox/row_reader.hpp"
#include "inbox/value_of.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

/// The parameters of an ingest call. Members in the order of the function's arguments.
struct Arrays {
  explicit Arrays(const IngestBatch& batch);
  pqxx::params parameters(const IngestBatch& batch, bool expects_duplicates);

  ArrayParameter step_shard{Type::int4}, step_epoch{Type::int4}, step_expected{Type::int8}, step_next{Type::int8},
      step_leader{Type::int4};
  LedgerColumns ledger;
  ArrayParameter shard;
  EventColumns columns;
  ArrayParameter kafka, deliver_at;
  ArrayParameter run_handler{Type::int4}, run_shard{Type::int4}, run_pending{Type::text}, run_events{Type::int4},
      run_lease{Type::int4}, run_sequence{Type::int4}, run_fence{Type::int8}, run_due{Type::timestamptz};
  ArrayParameter q_shard{Type::int4}, q_offset{Type::int8}, q_reason{Type::text}, q_detail{Type::text},
      q_key{Type::bytea}, q_payload{Type::bytea}, q_size{Type::int8}, q_digest{Type::int8}, q_headers{Type::bytea},
      q_kafka{Type::timestamptz};
  ArrayParameter staged_id{Type::int8}, staged_event{Type::uuid};
  ArrayParameter suspect_generation{Type::int4}, suspect_id{Type::uuid};

 private:
  Arrays(const IngestBatch& batch, std::size_t n, std::size_t key_bytes, std::size_t payload_bytes);
  void add_event(const event::Event& event);
  void add_quarantined(const QuarantinedRecord& record);
};

std::size_t total(const std::vector<event::Event>& events, event::MaybeBytes event::Event::*bytes) {
  return std::accumulate(events.begin(), events.end(), std::size_t{0}, [&](std::size_t sum, const event::Event& e) {
    return sum + 4 + (e.*bytes ? (e.*bytes)->size() : 0);
  });
}

Arrays::Arrays(const IngestBatch& batch)
    : Arrays{batch, batch.events.size(), total(batch.events, &event::Event::key),
             total(batch.events, &event::Event::payload)} {}

Arrays::Arrays(const IngestBatch& batch, std::size_t n, std::size_t key_bytes, std::size_t payload_bytes)
    : ledger{batch.events},
      shard{Type::int4, n * 8},
      columns{n, key_bytes, payload_bytes},
      kafka{Type::timestamptz, n * 12},
      deliver_at{Type::timestamptz} {
  for (const ShardStep& step : batch.steps) {
    step_shard.add(step.shard_id);
    step_epoch.add(step.epoch);
    step_expected.add(step.expected);
    step_next.add(step.next);
    step_leader.add(step.leader_epoch);
  }
  for (const event::Event& event : batch.events) add_event(event);
  const bool any_in_order =
      std::any_of(batch.runs.begin(), batch.runs.end(), [](const PlannedRun& run) { return run.sequence.has_value(); });
  for (const PlannedRun& run : batch.runs) {
    run_handler.add(run.handler_id);
    run_shard.add(run.shard_id);
    run_pending.add(run.pending.text());
    run_events.add(static_cast<std::int32_t>(run.pending.count()));
    run_lease.add(static_cast<std::int32_t>(run.lease.count()));
    run_due.add_time(run.due);
    if (!any_in_order) continue;
    run.sequence ? run_sequence.add(*run.sequence) : run_sequence.add_null();
    run_fence.add(run.sequence_fence);
  }
  for (const QuarantinedRecord& record : batch.rejected) add_quarantined(record);
  for (const StagedEvent& staged : batch.staged) {
    staged_id.add(staged.id);
    staged_event.add(staged.event_id);
  }
  if (!batch.suspects) return;
  for (const Suspect& suspect : *batch.suspects) {
    suspect_generation.add(suspect.generation);
    suspect_id.add(suspect.event_id);
  }
}

void Arrays::add_event(const event::Event& event) {
  shard.add(event.shard_id);
  columns.add(event);
  kafka.add_time(event.kafka_timestamp);
  deliver_at.add_time(event.deliver_at);
}

void Arrays::add_quarantined(const QuarantinedRecord& record) {
  q_shard.add(record.shard_id);
  q_offset.add(record.offset);
  q_reason.add(record.reason);
  q_detail.add(record.detail);
  q_key.add(record.key);
  q_payload.add(record.payload);
  q_size.add(record.payload_size);
  q_digest.add(record.digest);
  q_headers.add(record.headers);
  q_kafka.add_time(record.kafka_timestamp);
}

pqxx::params Arrays::parameters(const IngestBatch& batch, bool expects_duplicates) {
  pqxx::params out;
  out.append(batch.owner.text());
  out.append(batch.fence);
  out.append(batch.routing_version);
  for (ArrayParameter* array : {&step_shard, &step_epoch, &step_expected, &step_next, &step_leader}) {
    out.append(array->finish());
  }
  out.append(expects_duplicates);
  out.append(ledger.repeats);
  const auto add = [&](const auto& arrays) {
    for (ArrayParameter* array : arrays) out.append(array->finish());
  };
  add(ledger.in_order());
  out.append(shard.finish());
  add(columns.in_order());
  add(std::array{&kafka, &deliver_at, &run_handler, &run_shard, &run_pending, &run_events, &run_lease, &run_sequence,
                 &run_fence, &run_due});
  add(std::array{&q_shard, &q_offset, &q_reason, &q_detail, &q_key, &q_payload, &q_size, &q_digest, &q_headers,
                 &q_kafka, &staged_id, &staged_event});
  if (batch.suspects) {
    add(std::array{&suspect_generation, &suspect_id});
  } else {
    out.append();
    out.append();
  }
  return out;
}

std::vector<std::optional<event::OffsetSet>> pending_left(std::string_view text, std::size_t runs) {
  std::vector<std::optional<event::OffsetSet>> out;
  while (out.size() < runs) {
    const auto end = std::min(text.find(';'), text.size());
    out.push_back(event::OffsetSet::parse(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

IngestResult read_result(const pqxx::row& row, const IngestBatch& batch) {
  IngestResult out;
  const std::string_view status = row[0].view();
  out.routing_is_stale = status == "routing";
  out.sequence_is_lost = status == "sequence";
  if (!value_of<bool>(status, {{"stored", true}, {"routing", false}, {"sequence", false}})) return out;
  const auto moved = numbers_of<std::int32_t>(row[1].view());
  if (moved.size() < batch.steps.size()) {
    for (const ShardStep& step : batch.steps) {
      if (std::find(moved.begin(), moved.end(), step.shard_id) == moved.end()) out.mismatched.push_back(step.shard_id);
    }
  }
  out.born.resize(batch.runs.size());
  const auto ids = row[2].is_null() ? std::vector<std::int64_t>{} : numbers_of<std::int64_t>(row[2].view());
  for (std::size_t i = 0; i < ids.size() && i < out.born.size(); ++i) out.born[i].delivery_id = ids[i];
  if (!row[3].is_null()) {
    auto pending = pending_left(row[3].view(), out.born.size());
    for (std::size_t i = 0; i < pending.size(); ++i) {
      auto& left = pending[i];
      if (left && *left != batch.runs[i].pending) out.born[i].pending = std::move(left);
    }
  }
  out.stored = row[4].as<std::int64_t>();
  out.duplicates = row[5].as<std::int64_t>();
  out.conflicts = row[6].as<std::int64_t>();
  out.received_at = row[7].as<std::int64_t>();
  if (!row[8].is_null()) out.resend_seconds = numbers_of<std::int32_t>(row[8].view());
  return out;
}

/// The longest detail of a quarantined record, in bytes.
constexpr std::size_t max_detail = 500;

}  // namespace

std::string quarantine_detail(std::string_view sentence) {
  return base::escape_controls(base::shorten(sentence, max_detail));
}

IngestResult ingest(Connection& connection, const IngestBatch& batch) {
  Arrays arrays{batch};
  auto& access = connection.access();
  const auto rows = access.call(statements::ingest, arrays.parameters(batch, access.expects_duplicates));
  auto result = read_result(rows[0], batch);
  if (result.stored + result.duplicates > 0) access.expects_duplicates = result.duplicates > 0;
  return result;
}

void rehearse(Connection& connection, const IngestBatch& batch) {
  Arrays arrays{batch};
  auto& access = connection.access();
  access.transaction([&](pqxx::work& tx) {
    const auto rows = access.run_in(tx, statements::ingest, arrays.parameters(batch, false));
    if (rows[0][0].as<std::string>() != "stored") {
      throw DatabaseError{{Fault::retry, "", "the routing or a sequence has changed", false}};
    }
    return false;
  });
}

std::int64_t release_born(Connection& connection, const base::Uuid& owner, const std::vector<std::int64_t>& fences,
                          const std::vector<std::int32_t>& handlers) {
  auto born_under = array_of(Type::int8, fences);
  auto handler_ids = array_of(Type::int4, handlers);
  return connection.access()
      .run(statements::release_born, pqxx::params{owner.text(), born_under.finish(), handler_ids.finish()})
      .affected_rows();
}

}  // namespace inboxd::inbox
