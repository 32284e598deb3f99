#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "feed.hpp"
#include "inbox/claim.hpp"
#include "inbox/connection.hpp"
#include "inbox/handlers.hpp"
#include "inbox/ingest.hpp"
#include "inbox/shards.hpp"
#include "inbox/watchdog.hpp"
#include "options.hpp"
#include "run.hpp"

namespace inboxd::bench {

/// The room `inbox` used in this process, without broker and daemon: a fresh schema with handlers and shards, and
/// ingest from as many threads as `options.connections` says.
class Room final {
 public:
  /// Drops the schema, migrates, registers `handlers` handlers on `topic` and writes first positions of its partitions.
  Room(const Options& options, const std::string& database_url, const std::string& topic, int handlers,
       int days_ahead = 7);

  struct Load {
    std::uint64_t seed = 1;
    std::chrono::milliseconds lease{30'000};  ///< 0: born due
    /// Told of each batch that is stored, and when the database received it; on the ingesting thread.
    std::function<void(const inbox::IngestBatch&, event::Microseconds received_at)> stored = {};
  };
  struct Counts {
    std::int64_t stored = 0;
    std::int64_t duplicates = 0;
  };
  /// Ingests `options.events` generated events and measures it. Called again it goes on behind what is there.
  Run ingest(const Load& load, Counts* counts = nullptr);

  /// A connection of this process to the database, for one thread.
  std::unique_ptr<inbox::Connection> connect(const std::string& purpose);
  const base::Uuid& owner() const { return owner_; }
  const inbox::Routing& routing() const { return routing_; }
  const std::string& database_url() const { return settings_.url; }

 private:
  void ingest_part(int worker, const Load& load, Counts& counts);
  inbox::IngestBatch planned(const FeedBatch& feed, const inbox::Routing& routing, const Load& load) const;

  Options options_;
  config::Database settings_;
  base::Logger log_{base::LogLevel::warn, base::LogFormat::text};
  inbox::Watchdog watchdog_;
  base::Uuid owner_ = base::random_uuid();
  inbox::Routing routing_;
  std::vector<inbox::ShardPosition> shards_;  ///< by partition; their next offsets move with each ingest
};

/// Handlers as a configuration would name them: noop_1, noop_2, …
std::vector<config::Handler> noop_handlers(int count, const std::string& topic);

/// A schema as `inboxd migrate` leaves it, with nothing in it.
void fresh_schema(inbox::Connection& connection, Session& session, int days_ahead);

}  // namespace inboxd::bench
