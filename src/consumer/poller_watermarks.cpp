// The ends of the poll thread's partitions: from fetches and queries to the status and to table shard.
#include <algorithm>

#include "consumer/poller.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr auto update_interval = 1s;
/// After an assignment, until the first watermarks of its partitions are sent.
constexpr auto update_new_interval = 200ms;

}  // namespace

void Poller::update_watermarks() {
  take_answers();
  read_fetched_watermarks();
  query_watermarks();
  const auto now = Clock::now();
  send_watermarks(now);
  const bool any_new = std::any_of(partitions_.begin(), partitions_.end(),
                                   [&](const auto& entry) { return entry.second.lag.is_new(now); });
  next_watermarks_ = now + (any_new ? Clock::duration{update_new_interval} : update_interval);
}

void Poller::read_fetched_watermarks() {
  const auto now = Clock::now();
  for (auto& [name, partition] : partitions_) {
    std::int64_t low = -1;
    std::int64_t high = -1;
    rd_kafka_get_watermark_offsets(client_, name.topic.c_str(), name.partition, &low, &high);
    HighWatermark& watermark = partition.lag.high_watermark;
    watermark.note_fetch(high, now);
    if (!watermark.is_known()) continue;
    status_.set_high_watermark(name, watermark.offset, watermark.observed_at);
    // Open transactions hold nothing back if everything was read.
    if (!status_.is_behind(name, watermark.offset)) partition.lag.stable_offset = watermark.offset;
  }
}

void Poller::query_watermarks() {
  const auto now = Clock::now();
  std::vector<kafka::TopicPartition> due;
  std::vector<kafka::TopicPartition> behind;
  for (auto& [name, partition] : partitions_) {
    if (!high_request_.is_pending() && partition.lag.is_query_due(now)) {
      partition.lag.high_watermark.queried_at = now;
      due.push_back(name);
    }
    if (!stable_request_.is_pending() && now >= next_stable_query_ &&
        status_.is_behind(name, partition.lag.high_watermark.offset)) {
      behind.push_back(name);
    }
  }
  if (!due.empty()) high_request_.send(query_client_, due, HighWatermark::answer_within);
  if (behind.empty()) return;
  next_stable_query_ = now + PartitionLag::send_interval;
  stable_request_.send(query_client_, behind, HighWatermark::answer_within, kafka::End::last_stable_offset);
}

void Poller::take_answers() {
  for (auto* const request : {&high_request_, &stable_request_}) {
    const auto answer = request->take();
    if (!answer) continue;
    if (!answer->ok()) {
      log_.debug("consumer.watermark_query_failed", {{"reason", answer->problem().message}});
      continue;
    }
    for (const auto& [name, offset] : answer->value()) {
      const auto found = partitions_.find(name);
      if (found == partitions_.end()) continue;
      if (request == &high_request_)
        found->second.lag.high_watermark.note_answer(offset);
      else
        found->second.lag.stable_offset = offset;
    }
  }
}

void Poller::send_watermarks(Clock::time_point now) {
  std::map<Ingester*, RecordWatermarks> messages;
  for (auto& [name, partition] : partitions_) {
    // Before its position is found, the ingester knows no shard.
    if (!partition.life.is_read() && !partition.life.is_halted()) continue;
    if (auto mark = partition.lag.due_mark(name, now)) messages[partition.ingester].marks.push_back(*std::move(mark));
  }
  for (auto& [ingester, message] : messages) ingester->send(std::move(message));
}

}  // namespace inboxd::consumer
