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
#include "inbox/handler_transaction.hpp"
#include "inbox/handlers.hpp"
#include "inbox/ingest.hpp"
#include "inbox/settle.hpp"
#include "inbox/shards.hpp"
#include "inbox/upkeep.hpp"
#include "support/database.hpp"

namespace inboxd::support {

using std::chrono::milliseconds;

/// A migrated inbox in a schema of its own, with one connection of the room's.
class Inbox final {
 public:
  Inbox();
  /// On another server, or through something in between: `url` is how the room connects, `direct` how the test does.
  explicit Inbox(const std::string& url, const std::string& direct = "");
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  Database& database() { return database_; }
  inbox::Connection& connection() { return *connection_; }
  const config::Database& settings() const { return settings_; }
  /// One more: for another thread, or as another instance.
  std::unique_ptr<inbox::Connection> connect(const std::string& purpose = "test");
  std::unique_ptr<inbox::Connection> connect(const config::Database& settings);

  /// A worker's transactions, with these settings where given.
  std::unique_ptr<inbox::HandlerTransaction> transaction();
  std::unique_ptr<inbox::HandlerTransaction> transaction(const config::Database& settings);
  std::unique_ptr<inbox::SqlDescriber> describer(const config::Database& settings);

  /// A handler of all topics named; its id.
  std::int32_t add_handler(const std::string& name, const std::vector<std::string>& topics = {},
                           const std::vector<std::string>& types = {}, config::StartAt start = now());
  static config::StartAt now() { return {config::StartAt::Kind::end, 0}; }
  static config::StartAt beginning() { return {config::StartAt::Kind::beginning, 0}; }
  std::int64_t routing_version() { return inbox::read_routing(*connection_).version; }

  /// A shard whose next offset is `next`; its id.
  std::int32_t add_shard(const std::string& topic, int partition = 0, std::int64_t next = 0);
  std::int64_t position(const std::string& topic, int partition = 0);
  /// Halts a shard where it is now.
  void halt(std::int32_t shard_id, const std::string& reason, std::optional<event::OffsetRange> gap);
  /// Events owed to all handlers there are, and ranges still to be back-filled.
  std::int64_t outstanding();

  /// Ends the sessions of this object, which makes their statistics seen, and waits until only so many others are left
  /// whose are to come.
  void end_sessions(std::int64_t others = 0);
  /// How many sessions of a daemon's kind work in the schema.
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

/// Puts one ingest transaction together and owns its bytes.
class Batch final {
 public:
  explicit Batch(Inbox& inbox, std::optional<base::Uuid> owner = {});
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// What follows belongs to that shard, which has to be at `expected`. Shards in order of their ids.
  Batch& at(std::int32_t shard, std::int64_t expected, std::int32_t epoch = 0);
  Batch& event(const base::Uuid& id, std::string_view payload = "{}", std::string_view type = "Happened");
  /// That many with ids of their own.
  Batch& events(int count, std::string_view payload = "{}", std::string_view type = "Happened");
  /// Offsets that hold no event.
  Batch& skip(std::int64_t count);
  Batch& reject(const std::string& reason);
  /// The shard's events so far are a run of that handler: due, or leased for that long.
  Batch& owe(std::int32_t handler, milliseconds lease = milliseconds{0});

  inbox::IngestBatch& get() { return batch_; }
  const std::vector<event::Event>& events() const { return batch_.events; }
  const std::vector<inbox::QuarantinedRecord>& rejected() const { return batch_.rejected; }
  inbox::IngestResult store(inbox::Connection& connection) { return inbox::ingest(connection, batch_); }

 private:
  inbox::IngestBatch batch_;
  base::Arena arena_;
  event::OffsetSet offsets_;
};

/// What the database said of a call that throws; throws itself where the call went through.
inbox::DatabaseFailure failure_of(const std::function<void()>& call);

/// Until somebody who stores events in that test's schema waits for a lock.
void wait_for_waiter(Inbox& inbox);

/// A handler of all topics and types.
config::Handler handler_named(const std::string& name);

/// All that is to be back-filled, in bites of so many offsets; returns how many bites it took.
std::int64_t backfill_all(inbox::Connection& connection, int bite = 1000);

/// A claim of all that is due, up to a limit.
inbox::Claimed claim_due(inbox::Connection& connection, std::int32_t handler, const base::Uuid& owner,
                         std::int64_t events = 1'000'000, milliseconds lease = milliseconds{30'000}, int rows = 1000);

/// Everything in a run is done.
inbox::Settlement all_done(const inbox::LeasedRun& run);

/// Blocks that a statement read, from what `explain (analyze, buffers)` says of it.
std::int64_t blocks_read(const std::vector<Session::Row>& plan);

std::int64_t events_in(const std::vector<inbox::LeasedRun>& runs);

}  // namespace inboxd::support
