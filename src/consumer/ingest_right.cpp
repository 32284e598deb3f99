#include "consumer/ingest_right.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/shared_topics.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

/// How often an instance without the right asks for it.
constexpr auto right_ask_interval = 1'000ms;
/// Between two renewals, and looks at the topics' partitions and at the group, at most.
constexpr std::chrono::milliseconds share_interval = 5s;
/// A wait must not look like a stall.
constexpr auto right_beat_interval = 200ms;
constexpr std::chrono::milliseconds max_broker_patience = 1'000ms;
/// After so long without an answer of the brokers another instance may have the right, which may hear them.
constexpr auto longest_silence = 30s;

}  // namespace

IngestRight::IngestRight(const config::Settings& settings, const base::Uuid& owner, const config::Topics& topics,
                         Calls calls, PartitionStatus& status, inbox::Watchdog& watchdog, base::Logger& log)
    : settings_{settings},
      topics_{topics},
      calls_{std::move(calls)},
      status_{status},
      log_{log},
      connection_{settings.database, "ingest right", watchdog, log},
      lease_{owner, 0, {settings.shard.index, settings.shard.of}} {}

IngestRight::~IngestRight() {
  request_stop();
  join();
}

void IngestRight::start() {
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "ingest right");
}

void IngestRight::request_stop() {
  stopping_ = true;
  wake_.notify();
}

void IngestRight::join() {
  if (thread_.joinable()) thread_.join();
}

void IngestRight::run() {
  while (!stopping_) {
    const auto now = Clock::now();
    heartbeat_.beat();
    const auto failure = inbox::failure_of([&] { take_or_renew(now); });
    if (failure) log_.debug("consumer.ingest_right_unanswered", {{"error", failure->message}});
    if (held_until_ && Clock::now() >= *held_until_) lose(failure ? failure->message : "it was not renewed in time");
    const auto unasked = inbox::failure_of([&] {
      if (held_until_) find_partitions(now);
    });
    if (unasked) log_.debug("consumer.ingest_right_unanswered", {{"error", unasked->message}});
    if (held_until_ && is_silent()) {
      release();
      lose("the brokers have not answered for 30 s");
    }
    const auto next = now + (held_until_ ? std::min(settings_.shard.lease / 3, share_interval) : right_ask_interval);
    while (!stopping_ && Clock::now() < next) {
      heartbeat_.beat();
      wake_.wait_until(std::min<Clock::time_point>(next, Clock::now() + right_beat_interval));
    }
  }
  release();
}

void IngestRight::take_or_renew(Clock::time_point now) {
  const auto length = settings_.shard.lease;
  if (held_until_) {
    if (!inbox::renew_ingest_right(connection_, lease_, length)) return lose("another instance has it");
  } else {
    if (is_silent() && !hears_brokers()) return;
    lease_.fence = base::random_fence();
    if (!inbox::take_ingest_right(connection_, lease_, length)) return;
    log_.info("consumer.ingest_right_taken", {{"index", settings_.shard.index}, {"of", settings_.shard.of}});
  }
  held_until_ = now + length;
}

void IngestRight::lose(const std::string& reason) {
  held_until_.reset();
  own_.clear();
  calls_.read({});
  status_.share_doubted({});
  log_.warn("consumer.ingest_right_lost", {{"reason", reason}});
}

void IngestRight::release() {
  if (!held_until_) return;
  const auto failure = inbox::failure_of([&] { inbox::release_ingest_right(connection_, lease_); });
  if (failure) log_.debug("consumer.ingest_right_unanswered", {{"error", failure->message}});
}

/// Brokers that are away must not cost the lease.
std::chrono::milliseconds IngestRight::patience() const {
  return std::min(max_broker_patience, settings_.shard.lease / 9);
}

bool IngestRight::is_silent() const { return Clock::now() - heard_ > longest_silence; }

bool IngestRight::hears_brokers() {
  const auto client = calls_.query_client();
  return client != nullptr && list_topics(client.get());
}

base::Result<std::vector<std::string>> IngestRight::list_topics(rd_kafka_t* client) {
  auto out = kafka::list_topics(client, patience());
  if (out) heard_ = Clock::now();
  return out;
}

/// Also the partitions that a growing topic has got since.
void IngestRight::find_partitions(Clock::time_point now) {
  const auto client = calls_.query_client();
  if (client == nullptr) return;
  const auto listed = list_topics(client.get());
  if (!listed) return;
  std::set<std::string> names;
  for (const std::string& name : listed.value()) {
    if (topics_.find(name) != nullptr) names.insert(name);
  }
  const auto described = kafka::describe_topics(client.get(), {names.begin(), names.end()}, patience());
  if (!described) return;
  // A topic that is listed and not described stays: a broker is away, or a right is missing.
  std::erase_if(own_, [&](const auto& partition) { return !names.contains(partition.topic); });
  std::string doubt;
  for (const auto& topic : described.value()) {
    for (std::int32_t i = settings_.shard.index; i < topic.partitions; i += settings_.shard.of) {
      own_.insert({topic.name, i});
    }
    if (doubt.empty()) doubt = config::uneven_text(settings_.shard, topic.name, topic.partitions);
  }
  calls_.read(own_);
  if (doubt.empty()) doubt = members_text(now);
  status_.share_doubted(std::move(doubt));
}

/// The brokers refuse the offsets of a reader without membership while the group has members.
std::string IngestRight::members_text(Clock::time_point now) {
  const config::Kafka& settings = settings_.kafka;
  const auto members = members_.ask({settings.brokers, "", "", settings.properties_now()}, settings.group, now);
  if (!members || members->empty()) return "";
  const kafka::GroupMember& first = members->front();
  return config::subscribed_text(settings.group, first.client_id + " at " + first.host);
}

}  // namespace inboxd::consumer
