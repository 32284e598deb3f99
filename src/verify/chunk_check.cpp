#include "verify/chunk_check.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "consumer/batch.hpp"
#include "envelope/identity.hpp"
#include "inbox/array_parameter.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::verify {
namespace {

namespace statements = inbox::statements;

constexpr std::size_t max_scratch = 1U << 20U;
constexpr std::size_t max_decoded_bytes = 64U << 20U;  // a few bytes can be megabytes of JSON

/// A row of the ledger.
struct KnownId {
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  std::int64_t digest = 0;
  event::Microseconds received_at = 0;
};

class ChunkCheck final {
 public:
  ChunkCheck(inbox::Connection& connection, const VerifiedPartition& partition, PartitionResult& result)
      : connection_{connection}, partition_{partition}, result_{result} {}

  std::vector<Contradiction> run(const kafka::LogReader::Chunk& chunk, std::int64_t from) {
    begins_after_other_id_ = result_.ends_with_other_id;
    result_.records += static_cast<std::int64_t>(chunk.messages.size());
    compare_places(chunk);
    if (!compared_.empty()) result_.ends_with_other_id = compared_.back().has_other_id;
    account_for_rest();
    count_absent(chunk, from);
    return std::move(found_);
  }

 private:
  /// An event at the offset of its record.
  struct Compared {
    std::int64_t offset = 0;
    bool has_other_id = false;  ///< than today's rules give its record
  };

  /// Records with a row of their own: events and quarantined records. Rows at offsets without a record are not read:
  /// in a compacted topic they may have gigabytes.
  void compare_places(const kafka::LogReader::Chunk& chunk) {
    if (chunk.messages.empty()) return;
    event::OffsetSet offsets;
    for (const auto& message : chunk.messages) offsets.add(message->offset);
    const auto& statement = partition_.reads_content ? statements::verify_places : statements::verify_places_only;
    const std::string shard = std::to_string(partition_.state.shard_id), places = offsets.text();
    inbox::WireParameters parameters;
    for (const std::string* const text : {&shard, &places}) parameters.add(*text);
    const auto rows = connection_.access().fetch(statement, parameters);
    const int count = PQntuples(rows.get());
    int at = 0;
    for (const auto& message : chunk.messages) {
      const auto offset = [&](int row) { return inbox::BinaryRow{rows.get(), row}.int8(0); };
      while (at < count && offset(at) < message->offset) ++at;
      int last = at;
      while (last < count && offset(last) == message->offset) ++last;
      if (at == last)
        rest_.push_back(message.get());
      else
        compare(*message, rows.get(), at, last);
    }
  }

  /// Rows [first, last) have the record's offset: several, if it was read again after its id had been trimmed.
  void compare(const rd_kafka_message_t& message, const PGresult* rows, int first, int last) {
    bool is_event = false;
    for (int i = first; i < last; ++i) is_event = is_event || inbox::BinaryRow{rows, i}.flag(1);
    if (!is_event) {
      ++result_.quarantined;
      return;
    }
    compare_ids(message, rows, first, last);
    for (int i = first; i < last; ++i) {
      const inbox::BinaryRow row{rows, i};
      if (!row.flag(1)) continue;
      const bool is_forgotten = row.flag(2);
      if (!is_forgotten && digest_of(message) != envelope::digest_of(row.maybe_bytes(3), row.maybe_bytes(4))) continue;
      ++result_.events;
      result_.forgotten += is_forgotten ? 1 : 0;
      return;
    }
    add("different_content", message.offset, "", "key or payload differ from the record's");
  }

  /// Today's rules may give the record another id than its event has. Read again, it would be a new event.
  void compare_ids(const rd_kafka_message_t& message, const PGresult* rows, int first, int last) {
    if (!scratch_ || scratch_->used() > max_scratch) scratch_.emplace();
    std::size_t rule = envelope::max_rules;
    const auto record = consumer::record_of(message, {}, *scratch_);
    const auto decoded = envelope::decode(record, partition_.rules, *scratch_, &rule);
    const auto* const event = std::get_if<event::Event>(&decoded);
    bool is_same = std::holds_alternative<envelope::Waiting>(decoded);  // for a schema: nothing can be said
    for (int i = first; i < last; ++i) {
      const inbox::BinaryRow row{rows, i};
      is_same = is_same || (row.flag(1) && event != nullptr && row.uuid(5) == event->event_id);
    }
    compared_.push_back({message.offset, !is_same});
    if (is_same) return;
    ++result_.other_id;
    result_.last_other_id = message.offset;
    result_.other_id_rule = envelope::rule_name(rule);
  }

  /// Whether the event before or after the offset was stored by other rules than today's. Then a record between them
  /// may be a resend whose event has another id.
  bool is_by_other_rules(std::int64_t offset) const {
    const auto next = std::upper_bound(compared_.begin(), compared_.end(), offset,
                                       [](std::int64_t at, const Compared& one) { return at < one.offset; });
    const bool is_after = next == compared_.begin() ? begins_after_other_id_ : std::prev(next)->has_other_id;
    return is_after || (next != compared_.end() && next->has_other_id);
  }

  static std::int64_t digest_of(const rd_kafka_message_t& message) {
    const auto bytes = [](const void* data, std::size_t size) {
      return data == nullptr ? event::MaybeBytes{} : std::string_view{static_cast<const char*>(data), size};
    };
    return envelope::digest_of(bytes(message.key, message.key_len), bytes(message.payload, message.len));
  }

  /// Records without a row: duplicates, tombstones that are skipped, gaps, records past retention; or missing ones.
  void account_for_rest() {
    std::vector<event::Event> events;
    for (const rd_kafka_message_t* const message : rest_) {
      if (arena_->used() > max_decoded_bytes) {
        account_for(events);
        events.clear();
        arena_.emplace();
      }
      if (partition_.gaps.contains(message->offset)) {
        ++result_.in_gaps;
        continue;
      }
      const auto record = consumer::record_of(*message, {}, *arena_);
      auto decoded = envelope::decode(record, partition_.rules, *arena_);
      if (const auto* const event = std::get_if<event::Event>(&decoded)) {
        events.push_back(event::copy(*event, *arena_));
      } else if (const auto* const rejected = std::get_if<envelope::Rejected>(&decoded)) {
        not_in_quarantine(message->offset, record.timestamp, "", std::string{envelope::name_of(rejected->reason)});
      } else if (std::holds_alternative<envelope::Waiting>(decoded)) {
        ++result_.not_checkable;
        forgotten(message->offset);
      } else {
        ++result_.skipped;
      }
    }
    account_for(events);
  }

  void account_for(const std::vector<event::Event>& events) {
    if (events.empty()) return;
    const auto known = find_ids(events);
    std::vector<event::Event> unknown;
    for (const auto& event : events) {
      const auto id = known.find(event.event_id);
      if (id == known.end()) {
        unknown.push_back(event);
      } else if (id->second.shard_id == partition_.state.shard_id && id->second.offset == event.offset) {
        of_own_id(event, id->second);
      } else if (id->second.digest == event.digest) {
        ++result_.duplicates;
      } else {
        not_in_quarantine(event.offset, event.kafka_timestamp, event.event_id.text(), "conflict");
      }
    }
    account_for_unknown(std::move(unknown));
  }

  /// Records that the ledger does not know. A duplicate is one, once its event's id was trimmed.
  void account_for_unknown(std::vector<event::Event> events) {
    const KeptSince& kept = partition_.kept;
    std::erase_if(events, [&](const auto& event) {
      const bool is_kept = kept.is_since(event.kafka_timestamp, kept.events) &&
                           kept.is_since(event.kafka_timestamp, kept.ids) && !is_by_other_rules(event.offset);
      if (!is_kept) {
        ++result_.not_checkable;
        forgotten(event.offset);
      }
      return !is_kept;
    });
    if (events.empty()) return;
    inbox::ArrayParameter ids{inbox::ArrayParameter::Type::uuid, events.size() * 20};
    for (const auto& event : events) ids.add(event.event_id);
    std::set<base::Uuid> stored;
    const auto rows = inbox::run_read(connection_, statements::verify_ids_of_events, pqxx::params{ids.finish()});
    for (const auto& row : rows) stored.insert(inbox::RowReader{row}.uuid());
    for (const auto& event : events) {
      if (stored.contains(event.event_id)) {
        ++result_.duplicates;
        forgotten(event.offset);
      } else {
        missing(event.offset);
        add("missing_record", event.offset, event.event_id.text(),
            "neither stored, known to the ledger nor in quarantine");
      }
    }
  }

  /// Only the newest shard can read a record again.
  void missing(std::int64_t offset) {
    if (!result_.first_missing && partition_.state.is_newest) result_.first_missing = offset;
  }

  void forgotten(std::int64_t offset) { result_.last_forgotten = std::max(result_.last_forgotten.value_or(0), offset); }

  std::map<base::Uuid, KnownId> find_ids(const std::vector<event::Event>& events) {
    inbox::ArrayParameter ids{inbox::ArrayParameter::Type::uuid, events.size() * 20};
    for (const auto& event : events) ids.add(event.event_id);
    std::map<base::Uuid, KnownId> out;
    for (const auto& found : inbox::run_read(connection_, statements::verify_known_ids, pqxx::params{ids.finish()})) {
      inbox::RowReader row{found};
      const auto id = row.uuid();
      out[id] = {row.int4(), row.int8(), row.int8(), row.int8()};
    }
    return out;
  }

  void of_own_id(const event::Event& event, const KnownId& id) {
    if (id.received_at < partition_.kept.events) {
      ++result_.not_checkable;
    } else {
      add("id_without_event", event.offset, event.event_id.text(), "the ledger has its id, but it is not stored");
    }
  }

  void not_in_quarantine(std::int64_t offset, std::optional<event::Microseconds> timestamp, const std::string& event_id,
                         const std::string& reason) {
    const bool is_kept =
        partition_.reads_content && partition_.kept.is_since(timestamp, partition_.kept.quarantine);
    if (!is_kept || partition_.discarded.contains(offset)) {
      ++result_.not_checkable;
      return;
    }
    if (is_by_other_rules(offset)) {
      ++result_.not_checkable;
      forgotten(offset);
      return;
    }
    missing(offset);
    add("not_in_quarantine", offset, event_id, reason + ", but not in quarantine");
  }

  /// Offsets without a record, those in gaps apart.
  void count_absent(const kafka::LogReader::Chunk& chunk, std::int64_t from) {
    std::int64_t in_gaps = 0;
    for (const auto& gap : partition_.gaps.ranges()) {
      in_gaps += std::max<std::int64_t>(std::min(gap.end, chunk.next) - std::max(gap.first, from), 0);
    }
    if (in_gaps > 0) {
      in_gaps -= std::count_if(chunk.messages.begin(), chunk.messages.end(),
                               [&](const auto& message) { return partition_.gaps.contains(message->offset); });
    }
    result_.in_gaps += in_gaps;
    result_.absent += chunk.next - from - static_cast<std::int64_t>(chunk.messages.size()) - in_gaps;
  }

  void add(std::string rule, std::int64_t offset, std::string event_id, std::string detail) {
    Contradiction out;
    out.rule = std::move(rule);
    out.topic = partition_.state.topic;
    out.partition = partition_.state.partition;
    out.offset = offset;
    out.event_id = std::move(event_id);
    out.detail = std::move(detail);
    out.remedy = partition_.state.is_newest
                     ? remedy_for(out)
                     : "restore the event's row from a backup; no command reads records again from before a truncation";
    found_.push_back(std::move(out));
    ++result_.contradictions;
  }

  inbox::Connection& connection_;
  const VerifiedPartition& partition_;
  PartitionResult& result_;
  std::optional<base::Arena> arena_{std::in_place};
  std::optional<base::Arena> scratch_;  ///< of compared records
  bool begins_after_other_id_ = false;
  std::vector<Compared> compared_;  ///< by offset
  std::vector<const rd_kafka_message_t*> rest_;
  std::vector<Contradiction> found_;
};

}  // namespace

std::vector<Contradiction> check_chunk(inbox::Connection& connection, const VerifiedPartition& partition,
                                       const kafka::LogReader::Chunk& chunk, std::int64_t from,
                                       PartitionResult& result) {
  return ChunkCheck{connection, partition, result}.run(chunk, from);
}

}  // namespace inboxd::verify
