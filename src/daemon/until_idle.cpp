#include "daemon/until_idle.hpp"

#include "inbox/database_error.hpp"
#include "inbox/shards.hpp"
#include "inbox/upkeep.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::daemon {
namespace {

constexpr kafka::Timeout broker_timeout{5'000};

}  // namespace

UntilIdle::UntilIdle(const config::Settings& settings, inbox::Connection& connection, base::Logger& log)
    : settings_{settings}, topics_{settings.topics}, connection_{connection}, log_{log} {
  for (const auto& handler : settings.handlers) handlers_.push_back(handler.name);
}

bool UntilIdle::reached(rd_kafka_t* client) {
  if (!ends_known_ && !find_ends(client)) return false;
  try {
    return positions_reached() && inbox::outstanding(connection_, handlers_) == 0;
  } catch (...) {
    log_.debug("daemon: whether all is settled is not known",
               {{"error", inbox::describe(std::current_exception()).message}});
    return false;
  }
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
  ends_ = std::move(ends);
  ends_known_ = true;
  return true;
}

bool UntilIdle::positions_reached() {
  for (auto end = ends_.begin(); end != ends_.end();) {
    const auto position = inbox::find_position(connection_, end->first.topic, end->first.partition);
    if (!position) return false;
    const bool reached = position->next_offset >= end->second || position->halted_reason.has_value();
    if (!reached) return false;
    end = ends_.erase(end);
  }
  return true;
}

}  // namespace inboxd::daemon
