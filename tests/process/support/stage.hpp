#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/daemon.hpp"
#include "support/database.hpp"
#include "support/kafka.hpp"
#include "support/recording.hpp"

namespace inboxd::support {

/// What became of the events that were produced, by counting; `of` names the handler.
struct Tally {
  std::int64_t produced = 0;
  std::int64_t lost = 0;        ///< neither stored nor in quarantine
  std::int64_t doubled = 0;     ///< rows of an event beyond its first
  std::int64_t done = 0;        ///< events with an outcome `done`
  std::int64_t done_twice = 0;  ///< outcomes of an event beyond its first
  std::int64_t outstanding = 0;
  std::int64_t dead = 0;
  std::int64_t calls = 0;  ///< how often the handler was given an event
  std::string where = {};  ///< where any is lost: which, and how far each partition is
  std::string text() const;
  /// Everything stored once and done once.
  bool is_perfect() const {
    return lost == 0 && doubled == 0 && done_twice == 0 && outstanding == 0 && done == produced;
  }
};

/// What nearly every process test stands on: a schema, a topic, a recorder's file, and a configuration with one handler
/// (`recorder`) for all of it. Change `config` before a daemon is made of it.
class Stage final {
 public:
  explicit Stage(int partitions = 4, const std::string& database_url = "");
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Database database;
  Kafka kafka;
  std::string topic;
  Recording recording;
  ConfigText config;

  /// Setting of the recorder, all handlers.
  void set(const std::string& name, const std::string& value);
  std::unique_ptr<Daemon> start();  ///< and waits until it is ready
  /// The schema without a daemon, for tests that change it first.
  void migrate();

  /// That many events with ids of their own.
  std::vector<std::string> produce(int count, const std::string& type = "Happened");
  /// The same where other brokers than the stage's are read.
  std::vector<std::string> produce_through(Kafka& brokers, int count, const std::string& type = "Happened");
  void note(const std::vector<std::string>& ids);  ///< produced elsewhere (Load)
  const std::vector<std::string>& ids() const { return ids_; }

  Tally tally(const std::string& handler = "recorder");
  /// Waits until every event has been done by the handler; throws with the tally where it is not in time.
  Tally wait_done(const std::string& handler = "recorder", milliseconds within = milliseconds{45'000});
  void wait_stored(std::int64_t events, milliseconds within = patience);
  /// Partitions whose group offset is ahead of the database. Reads the offset first: the position only grows.
  std::int64_t offsets_ahead();
  std::int64_t position(int partition = 0);

 private:
  std::string whereabouts();

  std::vector<std::string> ids_;
};

}  // namespace inboxd::support
