// What an ingester does at intervals, beside reading and storing.
#include <set>

#include "consumer/ingester.hpp"
#include "inbox/database_error.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::consumer {
namespace {

constexpr std::chrono::seconds listen_every{1};

}  // namespace

void Ingester::listen() {
  const auto now = std::chrono::steady_clock::now();
  if (now < listen_at_) return;
  listen_at_ = now + listen_every;
  const std::uint64_t waiting = rd_kafka_queue_length(queue_.get());
  for (auto& [partition, shard] : shards_) {
    if (!shard.reading || !shard.silence.is_too_long(now, taken_, waiting)) continue;
    context_.log.warn(
        "consumer: nothing comes of a partition that is to be read; sought again",
        {{"topic", partition.topic}, {"partition", partition.partition}, {"position", shard.position.next_offset}});
    out_of_step(shard);
  }
}

void Ingester::answer(const NoteWatermarks& letter) {
  std::vector<inbox::Watermark> watermarks;
  for (const auto& [partition, high] : letter.high) {
    const auto found = shards_.find(partition);
    if (found != shards_.end() && found->second.has_lag) watermarks.push_back({found->second.position.shard_id, high});
  }
  try {
    inbox::record_watermarks(connection_, watermarks);
  } catch (...) {
    context_.log.debug("consumer: watermarks not recorded",
                       {{"error", inbox::describe_any(std::current_exception()).message}});
  }
}

void Ingester::answer(const CheckIncarnations&) {
  std::set<std::string> names;
  for (const auto& [partition, shard] : shards_) {
    if (shard.reading && !shard.position.incarnation.empty()) names.insert(partition.topic);
  }
  if (asks_for_all_) names.merge(context_.topics.names());
  // One question for all of them: brokers that are away cost the time for one, however many topics there are.
  const auto described =
      kafka::describe_topics(context_.clients.asker, {names.begin(), names.end()}, kafka::Timeout{1'000});
  if (!described) {
    context_.board.unanswered();
    return;
  }
  std::map<std::string, std::string> now;
  for (const auto& topic : described.value()) now[topic.name] = topic.incarnation;
  if (asks_for_all_) {
    std::erase_if(names, [&](const std::string& name) { return now.contains(name); });
    context_.board.answered({names.begin(), names.end()});
  }
  for (auto& [partition, shard] : shards_) {
    if (!shard.reading || shard.position.incarnation.empty()) continue;
    const auto known = now.find(partition.topic);
    // A topic that is another one now is halted, with the reason, when its position is looked up.
    if (known == now.end() || known->second.empty() || known->second == shard.position.incarnation) continue;
    out_of_step(shard);
  }
}

void Ingester::check_positions(std::uint64_t revocations) {
  try {
    const auto found = position_check_.run(connection_, shards_, std::chrono::steady_clock::now());
    // What was taken from us meanwhile another instance may have moved on; the rest is looked at again.
    if (context_.revocations != revocations) return;
    for (const Displaced& place : found) {
      Shard& shard = *place.shard;
      const base::Logger::Facts facts{{"topic", shard.assignment.partition.topic},
                                      {"partition", shard.assignment.partition.partition},
                                      {"stored", shard.position.next_offset},
                                      {"position", place.next_offset ? std::to_string(*place.next_offset) : "none"}};
      if (place.is_behind) {
        context_.log.error(
            "consumer: the database has lost what it had stored (restored or failed over?); reading again", facts);
      } else {
        context_.log.warn("consumer: somebody else has moved the position; looking it up again", facts);
      }
      out_of_step(shard);
    }
  } catch (...) {
    context_.log.debug("consumer: positions could not be compared",
                       {{"error", inbox::describe_any(std::current_exception()).message}});
  }
}

void Ingester::end_standing() {
  any_proven_ = false;
  for (auto& [partition, shard] : shards_) {
    if (!shard.reading || !shard.proven || !shard.standing_reason) continue;
    move();
    try {
      inbox::resume_shard(connection_, shard.position.shard_id, *shard.standing_reason);
      context_.log.info("consumer: readable again", {{"topic", partition.topic}, {"partition", partition.partition}});
      shard.standing_reason.reset();
      context_.poller.send(Readable{shard.assignment});
    } catch (...) {
      any_proven_ = true;
      context_.log.debug("consumer: that it is readable again could not be recorded yet",
                         {{"error", inbox::describe_any(std::current_exception()).message}});
      return;
    }
  }
}

}  // namespace inboxd::consumer
