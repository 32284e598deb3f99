#include "verify/database_rules.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "envelope/identity.hpp"
#include "inbox/array_parameter.hpp"
#include "inbox/handler_routing.hpp"
#include "inbox/row_reader.hpp"
#include "operations/partition_queries.hpp"
#include "statements.hpp"

namespace inboxd::verify {
namespace {

namespace statements = inbox::statements;
using inbox::Statement;

constexpr std::int64_t page_events = 50'000;
constexpr std::int64_t page_deliveries = 20'000;
constexpr std::int64_t page_blocks = 256;  // 2 MiB of each generation of the ledger

struct Rule {
  const char* name;
  const Statement* statement;
  const char* about;
};

/// Read whole tables, which have pending work only.
const std::vector<Rule> whole_rules{
    {"pending_twice", &statements::verify_pending_twice, "no event is pending for a handler in two deliveries"},
    {"orphans", &statements::verify_orphans,
     "deliveries, dead letters, edits and quarantined records have a handler and a partition"},
    {"lanes", &statements::verify_lanes, "only the first event of a blocked key is due or leased"},
    {"parked", &statements::verify_parked, "each parked event waits for a dead letter of its key"},
    {"windows", &statements::verify_windows, "only batch handlers have windows"},
    {"edits", &statements::verify_edits, "each edit has an event or a dead letter"},
    {"outbox", &statements::verify_outbox, "the relay reaches each message of the outbox, once"},
    {"positions", &statements::verify_positions, "positions follow each other without a hole"},
};

/// Read the deliveries by id.
const std::vector<Rule> delivery_rules{
    {"pending_without_event", &statements::verify_pending_without_event, "each pending event is stored"},
    {"pending_counts", &statements::verify_pending_counts, "deliveries count their events"},
    {"leases", &statements::verify_leases, "only the owner of a sequence has leases in it"},
};

/// Read the events of a partition, page by page.
const Rule missing{"missing_state", &statements::verify_missing_states,
                   "each event has a state for each handler that subscribed to it"};
const Rule twice{"two_states", &statements::verify_two_states, "no event has two states for a handler"};
const Rule two_events{"two_events", &statements::verify_two_events, "no record is stored as two events"};

/// Need the ids in audit or the whole ledger, which role `monitor` may not read.
const Rule without_id{"event_without_id", &statements::verify_events_without_id,
                      "the ledger has the id of each event"};
const Rule stored_twice{"stored_twice", &statements::verify_stored_twice,
                        "no event is stored twice: the ledger has its id for its place"};
const Rule id_without_event{"id_without_event", &statements::verify_ids_without_event,
                            "the event of each id in the ledger is stored, unless retention has deleted it"};

class DatabaseRules final {
 public:
  DatabaseRules(const Surroundings& around, const Request& request, Report& out)
      : around_{around}, request_{request}, out_{out}, moment_{read_moment(around.connection)} {}

  void run() {
    for (const auto* const rules : {&whole_rules, &delivery_rules}) {
      for (const Rule& rule : *rules) result_of(rule);
    }
    for (const Rule* const rule : {&missing, &twice, &two_events, &without_id, &stored_twice, &id_without_event}) {
      result_of(*rule);
    }
    for (const Rule& rule : whole_rules) {
      if (!must_check(rule)) continue;
      apply(rule, pqxx::params{limit()});
    }
    for (std::int64_t after = 0; after < moment_.newest_delivery && !is_stopped(); after += page_deliveries) {
      for (const Rule& rule : delivery_rules) apply(rule, pqxx::params{after, after + page_deliveries, limit()});
      around_.progress(
          {"deliveries", std::min(after + page_deliveries, moment_.newest_delivery), moment_.newest_delivery});
    }
    const auto partitions = partitions_of(around_, request_);
    for (const auto& partition : partitions) check_events(partition);
    check_ledger(partitions);
    if (request_.sample < 1 || out_.interrupted) return;
    for (auto& result : out_.rules) result.is_checked = true;  // also if there was nothing to read
    for (const Rule* const rule : {&without_id, &stored_twice, &id_without_event}) {
      result_of(*rule).is_checked = moment_.may_read_payloads;
    }
    for (const Rule& rule : whole_rules) result_of(rule).is_checked = must_check(rule);
  }

 private:
  using Partition = operations::PartitionState;

  /// The dead letter that parks a key may be past its retention.
  bool must_check(const Rule& rule) const {
    return rule.statement != &statements::verify_parked || !around_.settings.retention.dead_letters;
  }

  std::int64_t limit() const { return std::max<std::int64_t>(request_.limit, 1); }

  bool is_stopped() {
    out_.interrupted = out_.interrupted || around_.pause(std::chrono::milliseconds{0});
    return out_.interrupted;
  }

  void apply(const Rule& rule, const pqxx::params& parameters) {
    std::int64_t total = 0;  // each row has it
    for (const auto& found : inbox::run_read(around_.connection, *rule.statement, parameters)) {
      inbox::RowReader row{found};
      total = row.int8();
      Contradiction one;
      one.rule = rule.name;
      one.handler = row.maybe_text().value_or("");
      one.topic = row.maybe_text().value_or("");
      one.partition = row.maybe_int4();
      one.offset = row.maybe_int8();
      one.event_id = row.maybe_text().value_or("");
      one.received_at = row.maybe_int8();
      one.detail = row.maybe_text().value_or("");
      one.remedy = remedy_for(one);
      if (shown_[rule.name]++ < limit()) out_.contradictions.push_back(std::move(one));
    }
    auto& result = result_of(rule);
    result.contradictions += total;
    result.is_checked = true;
    out_.found += total;
  }

  RuleResult& result_of(const Rule& rule) {
    const auto known =
        std::find_if(out_.rules.begin(), out_.rules.end(), [&](const auto& one) { return one.rule == rule.name; });
    if (known != out_.rules.end()) return *known;
    return out_.rules.emplace_back(RuleResult{rule.name, rule.about});
  }

  void check_events(const Partition& partition) {
    const auto shard = partition.shard_id;
    const auto& retention = around_.settings.retention;
    for (std::int64_t first = 0; !is_stopped();) {
      const auto next = next_events(shard, first);
      if (!next) break;
      if (is_sampled(partition, first, *next)) {
        moment_ = read_moment(around_.connection);  // days may have been dropped
        const auto states_since =
            std::max({moment_.outcomes_since, moment_.dead_letters_since, kept_since(retention.dead_letters)});
        apply(missing, pqxx::params{shard, first, *next, states_since, limit()});
        apply(twice, pqxx::params{shard, first, *next, limit()});
        apply(two_events, pqxx::params{shard, first, *next, limit()});
        if (moment_.may_read_payloads) {  // and the ids in audit
          const auto ids_since = std::max(moment_.ledger_since, kept_since(retention.ledger));
          apply(without_id, pqxx::params{shard, first, *next, ids_since, limit()});
          for (auto& one : out_.contradictions) {
            if (one.remedy.empty()) one.remedy = statement_for_id(shard, one);
          }
          apply(stored_twice, pqxx::params{shard, first, *next, moment_.ledger_since, limit()});
        }
      }
      around_.progress(
          {"events of " + partition.topic + "/" + std::to_string(partition.partition) + " to offset", *next, 0});
      first = *next;
    }
  }

  /// The ledger's row for an event. Until it is there, another record with the id would be another event.
  std::string statement_for_id(std::int32_t shard, const Contradiction& found) {
    const auto rows = inbox::run_read(around_.connection, statements::verify_content,
                                      pqxx::params{shard, found.offset.value_or(0), found.event_id});
    if (rows.empty()) return "none: the event has been deleted meanwhile";
    inbox::RowReader row{rows[0]};
    const auto key = row.maybe_bytes(), payload = row.maybe_bytes();
    return "in psql: insert into inbox.ledger (event_id, shard_id, generation, \"offset\", digest, received_at) select "
           "event_id, shard_id, (select generation from inbox.routing), \"offset\", " +
           std::to_string(envelope::digest_of(key, payload)) + ", received_at from inbox.event where shard_id = " +
           std::to_string(shard) + " and \"offset\" = " + std::to_string(found.offset.value_or(0)) +
           " and event_id = '" + found.event_id + "'";
  }

  /// A page is in the sample if its first block is.
  bool is_sampled(const Partition& partition, std::int64_t first, std::int64_t end) const {
    return is_in_sample(partition.topic, partition.partition, first / sample_block, request_.sample) ||
           (partition.position && end >= *partition.position);
  }

  /// The end of the next page of events; nullopt: none is left.
  std::optional<std::int64_t> next_events(std::int32_t shard, std::int64_t first) {
    const std::int64_t most = request_.sample < 1.0 ? sample_block : page_events;
    const auto rows =
        inbox::run_read(around_.connection, statements::verify_next_events, pqxx::params{shard, first, most});
    return inbox::RowReader{rows[0]}.maybe_int8();
  }

  void check_ledger(const std::vector<Partition>& partitions) {
    if (!moment_.may_read_payloads) {
      out_.remarks.push_back(
          "event_without_id, stored_twice and id_without_event were not checked: this role may not read the ids in "
          "audit, nor the ledger by blocks");
      return;
    }
    for (std::int64_t block = 0; block < moment_.ledger_blocks && !is_stopped(); block += page_blocks) {
      if (!is_in_sample("", 0, block / page_blocks, request_.sample)) continue;
      moment_ = read_moment(around_.connection);
      inbox::ArrayParameter shards{inbox::ArrayParameter::Type::int4};
      for (const auto& partition : partitions) shards.add(partition.shard_id);
      apply(id_without_event, pqxx::params{block, block + page_blocks, shards.finish(), moment_.events_since, limit()});
      around_.progress(
          {"blocks of the ledger", std::min(block + page_blocks, moment_.ledger_blocks), moment_.ledger_blocks});
    }
  }

  event::Microseconds kept_since(const config::Keep& keep) const { return keep ? moment_.now - in_us(*keep) : 0; }

  static event::Microseconds in_us(std::chrono::milliseconds duration) {
    return std::chrono::microseconds{duration}.count();
  }

  const Surroundings& around_;
  const Request& request_;
  Report& out_;
  Moment moment_;
  std::map<std::string, std::int64_t> shown_;
};

}  // namespace

Moment read_moment(inbox::Connection& connection) {
  const auto rows = inbox::run_read(connection, statements::verify_moment, pqxx::params{});
  inbox::RowReader row{rows[0]};
  Moment out;
  out.now = row.int8();
  out.events_since = row.maybe_int8().value_or(out.now);
  out.outcomes_since = row.maybe_int8().value_or(out.now);
  out.ledger_since = row.maybe_int8().value_or(out.now);
  out.dead_letters_since = row.maybe_int8().value_or(0);
  out.started_at = row.maybe_int8();
  out.newest_delivery = row.int8();
  out.ledger_blocks = row.int8();
  out.may_read_payloads = row.flag();
  out.server = row.text();
  return out;
}

bool is_in_sample(const std::string& topic, std::int32_t partition, std::int64_t number, double sample) {
  if (sample >= 1.0) return true;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto mix = [&hash](std::uint64_t byte) { hash = (hash ^ (byte & 0xff)) * 0x100000001b3; };
  for (const char character : topic) mix(static_cast<unsigned char>(character));
  for (int shift = 0; shift < 64; shift += 8) {
    mix(static_cast<std::uint64_t>(partition) >> shift);
    mix(static_cast<std::uint64_t>(number) >> shift);
  }
  hash ^= hash >> 32;
  return static_cast<double>(hash % 1'000'000) < sample * 1'000'000;
}

std::vector<operations::PartitionState> partitions_of(const Surroundings& around, const Request& request) {
  auto out = operations::read_partitions(around.connection, {{}, false, false});
  std::erase_if(out,
                [&](const auto& one) { return !request.topics.empty() && !inbox::matches(one.topic, request.topics); });
  return out;
}

void verify_database(const Surroundings& around, const Request& request, Report& out) {
  DatabaseRules{around, request, out}.run();
}

}  // namespace inboxd::verify
