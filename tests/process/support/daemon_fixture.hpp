#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "process/support/final_verify.hpp"
#include "support/daemon_process.hpp"
#include "support/database.hpp"
#include "support/kafka.hpp"
#include "support/recording.hpp"

namespace inboxd::support {

/// The produced events, counted by their state for a handler.
struct EventCounts {
  std::int64_t produced = 0;
  std::int64_t lost = 0;        ///< neither stored nor in quarantine
  std::int64_t doubled = 0;     ///< rows of an event beyond its first
  std::int64_t done = 0;
  std::int64_t done_twice = 0;  ///< outcomes of an event beyond its first
  std::int64_t pending = 0;
  std::int64_t dead = 0;
  std::int64_t calls = 0;
  std::string where = {};  ///< if an event is lost: its id, and the position of each partition
  std::string text() const;
  bool is_perfect() const { return lost == 0 && doubled == 0 && done_twice == 0 && pending == 0 && done == produced; }
};

/// A schema, a topic, a recording, and a configuration with a single handler (`recorder`), from which daemons start.
/// Change `config` before starting a daemon. A test ends with `inboxd verify`.
class DaemonFixture {
 public:
  explicit DaemonFixture(int partitions = 4, const std::string& database_url = "");
  DaemonFixture(const DaemonFixture&) = delete;
  DaemonFixture& operator=(const DaemonFixture&) = delete;

  Database database;
  Kafka kafka;
  std::string topic;
  Recording recording;
  ConfigText config;
  FinalVerify final_verify{database, config};

  /// Sets a plugin setting of all handlers.
  void set(const std::string& name, const std::string& value);
  /// Starts a daemon and waits until it is ready.
  std::unique_ptr<DaemonProcess> start();
  void migrate();

  /// Returns the new ids.
  std::vector<std::string> produce(int count, const std::string& type = "Happened");
  std::vector<std::string> produce_through(Kafka& brokers, int count, const std::string& type = "Happened");
  /// Counts ids that were produced elsewhere.
  void note(const std::vector<std::string>& ids);
  const std::vector<std::string>& ids() const { return ids_; }

  EventCounts counts(const std::string& handler = "recorder");
  /// Waits until the handler has done every event; throws with the counts at the timeout.
  EventCounts wait_done(const std::string& handler = "recorder", milliseconds within = patience);
  void wait_stored(std::int64_t events, milliseconds within = patience);
  /// Number of partitions whose group offset is ahead of the database. Reads the offset first: the position only grows.
  std::int64_t offsets_ahead();
  std::int64_t position(int partition = 0);

 private:
  std::string describe_missing();

  std::vector<std::string> ids_;
};

}  // namespace inboxd::support
