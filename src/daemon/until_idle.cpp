#include "daemon/until_idle.hpp"

#include <algorithm>

#include "config/suggest.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "inbox/local_events.hpp"
#include "inbox/shard_position.hpp"
#include "inbox/upkeep.hpp"
#include "kafka/end_offsets.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::daemon {
namespace {

constexpr kafka::Timeout broker_timeout{5'000};
constexpr std::chrono::milliseconds query_limit{5'000};

}  // namespace

UntilIdle::UntilIdle(const config::Settings& settings, inbox::Watchdog& watchdog, base::Logger& log)
    : topics_{config::kafka_topics(settings.topics), settings.shard},
      connection_{settings.database, "until-idle", watchdog, log},
      log_{log} {
  connection_.set_deadline(std::min(settings.database.deadline, query_limit));
}

UntilIdle::State UntilIdle::check(rd_kafka_t* client, const std::map<std::int32_t, std::string>& handlers) {
  std::vector<std::string> names;
  for (const auto& [id, name] : handlers) names.push_back(name);
  if (client != nullptr && !ends_known_ && !find_ends(client)) return State::busy;
  bool is_settled = false;
  const auto failure =
      inbox::failure_of([&] {
        if (!positions_reached() || !local_events_stored()) return;
        is_settled = inbox::count_pending(connection_, names) == 0;
        if (!is_settled) inbox::close_idle_windows(connection_, names);
      });
  if (failure) log_.debug("daemon.idle_check_failed", {{"error", failure->message}});
  if (!is_settled) return State::busy;
  const auto held = client == nullptr ? std::nullopt : held_back(client);
  if (held == State::busy) return State::busy;
  if (halted_.empty() && absent_.empty()) return held.value_or(State::idle);
  log_stuck();
  return State::stuck;
}

bool UntilIdle::find_ends(rd_kafka_t* client) {
  const auto names = kafka::list_topics(client, broker_timeout);
  if (!names) return false;
  std::map<kafka::TopicPartition, std::int64_t> ends;
  for (const std::string& name : names.value()) {
    if (topics_.find(name) == nullptr) continue;
    const auto description = kafka::describe_topic(client, name, broker_timeout);
    if (!description) return false;
    for (std::int32_t partition = 0; partition < description.value().partitions; ++partition) {
      if (!topics_.shard().owns(partition)) continue;
      const auto bounds = kafka::log_bounds(client, {name, partition}, broker_timeout);
      if (!bounds) return false;
      ends[{name, partition}] = bounds.value().high;
    }
  }
  for (const config::Topic& topic : topics_.entries()) {
    const bool is_listed = std::find(names.value().begin(), names.value().end(), topic.name) != names.value().end();
    if (topic.name.empty() || is_listed) continue;
    absent_.emplace(topic.name, config::remedy_for_topic(topic.name, names.value()));
  }
  std::vector<kafka::TopicPartition> partitions;
  for (const auto& [partition, end] : ends) partitions.push_back(partition);
  const auto highs = kafka::high_watermarks(client, partitions, broker_timeout);
  if (!highs) return false;
  for (const auto& [partition, high] : highs.value()) {
    if (high > ends.at(partition)) highs_[partition] = high;
  }
  ends_ = std::move(ends);
  ends_known_ = true;
  return true;
}

/// After all else is settled: `busy` once a transaction has ended and its records can be read.
std::optional<UntilIdle::State> UntilIdle::held_back(rd_kafka_t* client) {
  bool has_more = false;
  for (auto each = highs_.begin(); each != highs_.end();) {
    const auto& [partition, high] = *each;
    const auto bounds = kafka::log_bounds(client, partition, broker_timeout);
    if (!bounds) return State::busy;
    if (bounds.value().high >= high) {
      ends_[partition] = high;
      has_more = true;
      each = highs_.erase(each);
      continue;
    }
    ++each;
  }
  if (has_more) return State::busy;
  if (highs_.empty()) return std::nullopt;
  for (const auto& [partition, high] : highs_) {
    log_.error("daemon.transaction_open",
               {{"topic", partition.topic}, {"partition", partition.partition}, {"until", high}});
  }
  return State::held;
}

/// Skips partitions that need an operator; temporary halts are waited for.
bool UntilIdle::positions_reached() {
  halted_.clear();
  for (auto end = ends_.begin(); end != ends_.end();) {
    const auto position = inbox::find_position(connection_, end->first.topic, end->first.partition);
    if (!position) return false;
    if (position->next_offset >= end->second) {
      end = ends_.erase(end);
      continue;
    }
    if (!position->needs_operator()) return false;
    halted_.emplace(end->first, position->halted_reason.value_or(""));
    ++end;
  }
  return true;
}

bool UntilIdle::local_events_stored() {
  const auto [first, last] = inbox::local_numbers(connection_);
  if (!last_local_) last_local_ = last.value_or(0);
  return !first || *first > *last_local_;
}

void UntilIdle::log_stuck() const {
  for (const auto& [topic, remedy] : absent_) {
    log_.error("daemon.topic_missing", {{"topic", topic}, {"remedy", remedy}});
  }
  for (const auto& [partition, reason] : halted_) {
    log_.error("daemon.partition_halted",
               {{"topic", partition.topic}, {"partition", partition.partition}, {"reason", reason}});
  }
}

}  // namespace inboxd::daemon
