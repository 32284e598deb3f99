#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "process/support/final_verify.hpp"
#include "support/daemon_process.hpp"
#include "support/database.hpp"
#include "support/kafka.hpp"
#include "support/recording.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// Databases that share a topic, each with a configuration and a recorder. A test ends with `inboxd verify` of each.
class ShardsFixture final {
 public:
  struct Shard {
    Shard(const std::string& url, const Kafka& kafka) : database{url}, config{database, kafka} {}
    Database database;
    Recording recording;
    ConfigText config;
    FinalVerify final_verify{database, config};

    std::unique_ptr<DaemonProcess> start() {
      auto daemon = std::make_unique<DaemonProcess>(config);
      daemon->wait_ready();
      return daemon;
    }
    std::int64_t stored() { return database.number("select count(*) from inbox.event"); }
    std::int64_t read() { return database.number("select coalesce(sum(position), 0) from inbox.lag"); }
    std::int64_t done() {
      return database.number(
          "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome where outcome = 'done'");
    }
  };

  /// `urls`: of the databases; a schema in each.
  ShardsFixture(int partitions, const std::vector<std::string>& urls) : topic{kafka.create_topic(partitions)} {
    for (std::size_t i = 0; i < urls.size(); ++i) {
      Shard& shard = *shards.emplace_back(std::make_unique<Shard>(urls[i], kafka));
      shard.config.group = shards[0]->config.group;
      shard.config.topics.push_back("{name: " + topic + "}");
      HandlerText handler;
      handler.settings["file"] = shard.recording.file();
      shard.config.handlers.push_back(handler);
      set_shard(shard, static_cast<int>(i), static_cast<int>(urls.size()));
    }
  }
  static void set_shard(Shard& shard, int index, int of) {
    shard.config.sections["shard"] =
        "index: " + std::to_string(index) + ", of: " + std::to_string(of) + ", lease: 3s";
  }
  std::string group() const { return shards[0]->config.group; }

  /// Waits until the databases have handled that many events together.
  void wait_done(std::int64_t events);
  /// Of all databases together: events, and records of the topic.
  std::int64_t stored() const { return sum(&Shard::stored); }
  std::int64_t read() const { return sum(&Shard::read); }
  /// Why a database has an event or a partition that it should not have; empty: all is well.
  std::string misplaced();

  Kafka kafka;
  std::string topic;
  std::vector<std::unique_ptr<Shard>> shards;

 private:
  std::int64_t sum(std::int64_t (Shard::*of)()) const {
    std::int64_t out = 0;
    for (const auto& shard : shards) out += (shard.get()->*of)();
    return out;
  }
};

/// Produces events with keys, in its own thread, until it is stopped. Each key belongs to many events.
class KeyedLoad final {
 public:
  explicit KeyedLoad(const ShardsFixture& fixture) : topic_{fixture.topic}, thread_{[this] { run(); }} {}
  ~KeyedLoad() { stop(); }
  KeyedLoad(const KeyedLoad&) = delete;
  KeyedLoad& operator=(const KeyedLoad&) = delete;

  void stop();
  std::int64_t produced() const { return produced_; }
  void wait_for_more(std::int64_t events) const;
  /// Produces to partitions that were added since.
  void notice_partitions() { has_old_client_ = true; }
  /// After stop(): produces every event again, with its id and key.
  void resend();

 private:
  void run();

  const std::string topic_;
  const std::string run_ = random_name("").substr(1);
  std::unique_ptr<Kafka> kafka_ = std::make_unique<Kafka>();
  std::vector<Message> messages_;
  std::atomic<bool> has_old_client_{false};
  std::atomic<std::int64_t> produced_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

inline void ShardsFixture::wait_done(std::int64_t events) {
  wait_until(
      std::to_string(events) + " events are done", [&] { return sum(&Shard::done) >= events; }, patience,
      [&] { return std::to_string(stored()) + " are stored"; });
}

inline std::string ShardsFixture::misplaced() {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const auto& row : shards[i]->database.rows("select event_id, partition from inbox.events")) {
      const bool is_own = std::stoul(*row[1]) % shards.size() == i;
      if (!is_own) return "database " + std::to_string(i) + " has partition " + *row[1];
      if (!seen.insert(*row[0]).second) return "event " + *row[0] + " is there twice";
    }
  }
  return "";
}

inline void KeyedLoad::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

inline void KeyedLoad::wait_for_more(std::int64_t events) const {
  const std::int64_t wanted = produced_ + events;
  wait_until("more events are produced", [&] { return produced_ >= wanted; });
}

inline void KeyedLoad::resend() { kafka_->produce(messages_); }

inline void KeyedLoad::run() {
  constexpr int keys = 200, batch = 20;
  constexpr milliseconds pause{20};  // a load, not a flood: each event is produced and read twice
  while (!stopping_) {
    if (has_old_client_.exchange(false)) kafka_ = std::make_unique<Kafka>();
    std::vector<Message> next;
    for (int i = 0; i < batch; ++i) {
      const std::size_t number = messages_.size() + next.size();
      std::string digits = std::to_string(number);
      digits.insert(0, 12 - digits.size(), '0');
      next.push_back(event_message(topic_, run_.substr(0, 8) + "-0000-4000-8000-" + digits));
      next.back().key = "key" + std::to_string(number % keys);
    }
    kafka_->produce(next);
    messages_.insert(messages_.end(), next.begin(), next.end());
    produced_ += batch;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace inboxd::support
