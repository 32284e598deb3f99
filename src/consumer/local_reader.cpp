#include "consumer/local_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "envelope/identity.hpp"
#include "inbox/reading.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr auto observe_interval = 1s;
constexpr auto reading_interval = 5s;
/// Events that are counted for the lag; more would take too long.
constexpr std::int64_t max_counted = 100'000;

}  // namespace

LocalReader::LocalReader(Context context, std::int64_t low_water,
                         std::map<std::int32_t, kafka::TopicPartition>& assigned)
    : context_{std::move(context)}, assigned_{assigned}, highest_{low_water - 1} {
  look_up();
}

/// Positions are read before events: if another instance stores events meanwhile, their position has moved, and a batch
/// with them is refused.
void LocalReader::look_up() {
  for (const inbox::LocalPosition& found : inbox::local_positions(context_.connection)) {
    const kafka::TopicPartition partition{found.topic, 0};
    Shard& shard = shards_[found.shard_id];
    if (shard.place != nullptr) continue;
    shard.assignment.partition = partition;
    shard.position.shard_id = found.shard_id;
    shard.position.epoch = found.epoch;
    shard.position.next_offset = found.next_offset;
    shard.place = std::make_shared<const inbox::Place>(inbox::Place{found.topic, 0});
    if (assigned_.emplace(found.shard_id, partition).second) {
      context_.hand_off.assigned(found.shard_id);
      context_.status.assigned(partition);
    }
    next_observation_ = next_record_ = {};
    context_.status.set_state(partition, PartitionLife::State::reading);
    context_.status.advanced(partition, found.next_offset, 0);
  }
}

LocalReader::Found LocalReader::read(Clock::time_point now) {
  const auto& limits = context_.settings.ingest;
  const inbox::OutboxBite bite{limits.batch_events, static_cast<std::int64_t>(limits.batch_bytes)};
  const auto ranges = gaps_.to_probe(now);
  if (ranges.empty() && !found_some_ && !inbox::has_local_above(context_.connection, highest_)) return Found::none;
  const auto rows = inbox::read_local(context_.connection, ranges, highest_, bite);
  found_some_ = rows.size() > 0;
  if (found_some_ && gaps_.has_unprobed() && !store_old_gaps(bite)) return Found::doubted;
  if (found_some_ && !store(rows)) return Found::doubted;
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(rows.size()));
  for (int i = 0; i < rows.size(); ++i) ids.push_back(rows.id(i));
  const auto end = Clock::now();
  highest_ = gaps_.note_read(ids, highest_, true, end, end - now);
  if (gaps_.size() > 0 && (found_some_ || !ranges.empty())) {
    const auto transactions = inbox::transactions_now(context_.connection);
    gaps_.note_transaction(transactions.next, transactions.oldest);
  }
  if (!found_some_) return Found::none;
  return rows.size() >= limits.batch_events ? Found::full : Found::some;
}

/// A transaction that was open for long may have ended, and later events of its keys may have been read just now: the
/// events in the gaps are stored first.
bool LocalReader::store_old_gaps(inbox::OutboxBite bite) {
  auto ranges = gaps_.note_running(inbox::running_transactions(context_.connection, gaps_.before()));
  while (!ranges.empty()) {
    const auto rows =
        inbox::read_local(context_.connection, ranges, std::numeric_limits<std::int64_t>::max(), bite);
    if (rows.size() == 0) return true;
    if (!store(rows)) return false;
    for (int i = 0; i < rows.size(); ++i) gaps_.take_out(rows.id(i));
    const std::int64_t last = rows.id(rows.size() - 1);
    std::erase_if(ranges, [&](const auto& range) { return range.last <= last; });
    for (auto& range : ranges) range.first = std::max(range.first, last + 1);
  }
  return true;
}

bool LocalReader::store(const inbox::LocalRows& rows) {
  const auto begin = std::chrono::system_clock::now();
  Batch batch;
  fill(batch, rows);
  if (context_.tracer != nullptr) look_for_contexts(batch);
  const auto written = context_.writer.write(batch, context_.give_up);
  if (written.abandoned) return false;
  if (context_.tracer != nullptr) {
    add_spans(*context_.tracer, batch, written.mismatched, context_.settings.kafka.group, begin);
  }
  return note_stored(batch, written);
}

void LocalReader::fill(Batch& batch, const inbox::LocalRows& rows) {
  batch.events.reserve(static_cast<std::size_t>(rows.size()));
  for (int i = 0; i < rows.size(); ++i) {
    event::Event event = rows.event(i);
    if (!shards_.contains(event.shard_id)) look_up();  // its topic was declared since
    event.digest = envelope::digest_of(event.key, event.payload);
    batch.staged.push_back({rows.id(i), event.event_id});
    batch.bytes += event::size_of(event) - sizeof(event::Event);
    batch.events.push_back(event);
  }
  std::stable_sort(batch.events.begin(), batch.events.end(),
                   [](const event::Event& a, const event::Event& b) { return a.shard_id < b.shard_id; });
  for (event::Event& event : batch.events) {
    Shard& shard = shards_.at(event.shard_id);
    if (batch.parts.empty() || batch.parts.back().shard != &shard) {
      batch.parts.push_back({&shard, {}, shard.position.next_offset});
    }
    event.offset = batch.parts.back().next_offset++;
  }
}

/// False if the batch was not stored as a whole.
bool LocalReader::note_stored(const Batch& batch, const BatchWriter::Written& written) {
  for (const std::int32_t shard_id : written.mismatched) {
    const Shard& shard = shards_.at(shard_id);
    context_.log.info("consumer.position_mismatch", {{"topic", shard.assignment.partition.topic},
                                                     {"partition", shard.assignment.partition.partition},
                                                     {"expected", shard.position.next_offset}});
  }
  if (!written.mismatched.empty()) return false;
  for (const Part& part : batch.parts) {
    const auto events = static_cast<std::uint64_t>(part.next_offset - part.shard->position.next_offset);
    part.shard->position.next_offset = part.next_offset;
    context_.status.advanced(part.shard->assignment.partition, part.next_offset, events);
  }
  return true;
}

void LocalReader::observe(const base::Uuid& owner, Clock::time_point now) {
  if (now < next_observation_) return;
  next_observation_ = now + observe_interval;
  look_up();
  const auto waiting = found_some_ ? inbox::local_waiting(context_.connection, highest_, max_counted)
                                   : std::map<std::int32_t, std::int64_t>{};
  std::vector<inbox::Reading> readings;
  std::vector<inbox::Watermark> ends;
  for (const auto& [id, shard] : shards_) {
    const auto found = waiting.find(id);
    const std::int64_t end = shard.position.next_offset + (found == waiting.end() ? 0 : found->second);
    context_.status.set_high_watermark(shard.assignment.partition, end, now);
    readings.push_back({shard.assignment.partition.topic, 0, shard.position.next_offset, end, std::nullopt});
    ends.push_back({id, end, end, {}});
  }
  if (now < next_record_) return;
  next_record_ = now + reading_interval;
  inbox::record_readings(context_.connection, owner, readings);
  inbox::record_watermarks(context_.connection, ends);
}

}  // namespace inboxd::consumer
