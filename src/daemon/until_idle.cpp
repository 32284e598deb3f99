#include "daemon/until_idle.hpp"

#include <algorithm>

#include "inbox/database_error.hpp"
#include "inbox/shards.hpp"
#include "inbox/upkeep.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::daemon {
namespace {

constexpr kafka::Timeout broker_timeout{5'000};
constexpr std::chrono::milliseconds longest_question{5'000};

}  // namespace

UntilIdle::UntilIdle(const config::Settings& settings, inbox::Watchdog& watchdog, base::Logger& log)
    : settings_{settings},
      topics_{settings.topics},
      connection_{settings.database, "until-idle", watchdog, log},
      log_{log} {
  connection_.set_deadline(std::min(settings.database.deadline, longest_question));
}

UntilIdle::State UntilIdle::look(rd_kafka_t* client, const std::map<std::int32_t, std::string>& handlers) {
  std::vector<std::string> names;
  for (const auto& [id, name] : handlers) names.push_back(name);
  if (!ends_known_ && !find_ends(client)) return State::busy;
  try {
    if (!positions_reached() || inbox::outstanding(connection_, names) != 0) return State::busy;
  } catch (...) {
    log_.debug("daemon: whether all is settled is not known",
               {{"error", inbox::describe_any(std::current_exception()).message}});
    return State::busy;
  }
  if (halted_.empty() && absent_.empty()) return State::idle;
  tell_stuck();
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
      const auto bounds = kafka::log_bounds(client, {name, partition}, broker_timeout);
      if (!bounds) return false;
      ends[{name, partition}] = bounds.value().high;
    }
  }
  for (const config::Topic& topic : settings_.topics) {
    const bool is_listed = std::find(names.value().begin(), names.value().end(), topic.name) != names.value().end();
    if (!topic.name.empty() && !is_listed) absent_.push_back(topic.name);
  }
  ends_ = std::move(ends);
  ends_known_ = true;
  return true;
}

/// Where an operator has to decide there is nothing to wait for; what passes by itself is waited for.
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

void UntilIdle::tell_stuck() const {
  for (const std::string& topic : absent_) {
    log_.error("daemon: this topic does not exist, or may not be seen", {{"topic", topic}, {"look", "inboxd check"}});
  }
  for (const auto& [partition, reason] : halted_) {
    log_.error("daemon: this partition is halted, its records are not all stored", {{"topic", partition.topic},
                                                                                    {"partition", partition.partition},
                                                                                    {"reason", reason},
                                                                                    {"look", "inboxd shards list"}});
  }
}

}  // namespace inboxd::daemon
