#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inbox/claim.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/ingest.hpp"
#include "inbox/settle.hpp"
#include "inbox/shard_position.hpp"
#include "inbox/upkeep.hpp"
#include "support/database.hpp"
#include "transaction/handler_transaction.hpp"

namespace inboxd::support {

using std::chrono::milliseconds;

/// A migrated inbox in its own schema, with a single connection.
class Inbox final {
 public:
  Inbox();
  /// On another server or through a proxy: the daemon's code connects to `url`, the test to `direct`.
  explicit Inbox(const std::string& url, const std::string& direct = "");
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  Database& database() { return database_; }
  inbox::Connection& connection() { return *connection_; }
  const config::Database& settings() const { return settings_; }
  /// For another thread or instance.
  std::unique_ptr<inbox::Connection> connect(const std::string& purpose = "test");
  std::unique_ptr<inbox::Connection> connect(const config::Database& settings);

  std::unique_ptr<transaction::HandlerTransaction> transaction();
  std::unique_ptr<transaction::HandlerTransaction> transaction(const config::Database& settings);
  std::unique_ptr<transaction::SqlDescriber> describer(const config::Database& settings);

  /// Returns its id. Topics and types empty: all.
  std::int32_t add_handler(const std::string& name, const std::vector<std::string>& topics = {},
                           const std::vector<std::string>& types = {}, config::StartAt start = now());
  static config::StartAt now() { return {config::StartAt::Kind::end, 0}; }
  static config::StartAt beginning() { return {config::StartAt::Kind::beginning, 0}; }
  std::int64_t routing_version() { return inbox::read_routing(*connection_).version; }

  /// Returns its id.
  std::int32_t add_shard(const std::string& topic, int partition = 0, std::int64_t next = 0);
  std::int64_t position(const std::string& topic, int partition = 0);
  /// Halts a shard at its position.
  void halt(std::int32_t shard_id, const std::string& reason, std::optional<event::OffsetRange> gap);
  /// Pending events of all handlers, and ranges still to be back-filled.
  std::int64_t pending_events();

  /// Closes the sessions of this object, which publishes their statistics. Waits until only `others` daemon sessions
  /// are left.
  void end_sessions(std::int64_t others = 0);
  /// Daemon sessions only.
  std::int64_t sessions();
  bool has_sessions() { return sessions() > 0; }

  const base::Uuid owner = base::random_uuid();

 private:
  Database database_;
  config::Database settings_;
  base::Logger log_{base::LogLevel::error, base::LogFormat::text};
  inbox::Watchdog watchdog_;
  std::unique_ptr<inbox::Connection> connection_;
};

/// Builds an ingest transaction and owns its bytes.
class Batch final {
 public:
  explicit Batch(Inbox& inbox, std::optional<base::Uuid> owner = {});
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Continues with that shard, at position `expected`. Shards in the order of their ids.
  Batch& at(std::int32_t shard, std::int64_t expected, std::int32_t epoch = 0);
  Batch& event(const base::Uuid& id, std::string_view payload = "{}", std::string_view type = "Happened");
  Batch& events(int count, std::string_view payload = "{}", std::string_view type = "Happened");
  /// Skips offsets without events.
  Batch& skip(std::int64_t count);
  Batch& reject(const std::string& reason);
  /// Makes the shard's events so far a run of that handler: due, or leased for `lease`.
  Batch& deliver_to(std::int32_t handler, milliseconds lease = milliseconds{0});

  inbox::IngestBatch& get() { return batch_; }
  const std::vector<event::Event>& events() const { return batch_.events; }
  const std::vector<inbox::QuarantinedRecord>& rejected() const { return batch_.rejected; }
  inbox::IngestResult store(inbox::Connection& connection) { return inbox::ingest(connection, batch_); }

 private:
  inbox::IngestBatch batch_;
  base::Arena arena_;
  event::OffsetSet offsets_;
};

/// The database error of `call`; throws if `call` succeeds.
inbox::DatabaseFailure failure_of(const std::function<void()>& call);

/// Moves all events and deliveries to a day long ago: event_20200101, or another that has no partition yet.
void make_old_day(Inbox& inbox, const std::string& day = "2020-01-01");

/// Waits until a session that stores events in the schema waits for a lock.
void wait_for_waiter(Inbox& inbox);

/// A handler of all topics and types.
config::Handler handler_named(const std::string& name);

/// Runs all back-fills in steps of `bite` offsets; returns the number of steps.
std::int64_t backfill_all(inbox::Connection& connection, int bite = 1000);

/// Claims all due deliveries, up to the limits.
inbox::Claimed claim_due(inbox::Connection& connection, std::int32_t handler, const base::Uuid& owner,
                         std::int64_t events = 1'000'000, milliseconds lease = milliseconds{30'000}, int rows = 1000);

inbox::Settlement all_done(const inbox::LeasedRun& run);

/// Blocks that a statement read, from its `explain (analyze, buffers)`.
std::int64_t blocks_read(const std::vector<Session::Row>& plan);

std::int64_t events_in(const std::vector<inbox::LeasedRun>& runs);

}  // namespace inboxd::support
