#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "event_source.hpp"
#include "inbox/claim.hpp"
#include "inbox/connection.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/ingest.hpp"
#include "inbox/shard_position.hpp"
#include "inbox/watchdog.hpp"
#include "measured_run.hpp"
#include "options.hpp"

namespace inboxd::bench {

/// `src/inbox` used in this process, without broker and daemon: an empty schema with handlers and shards, and ingest on
/// `options.connections` threads.
class InProcessInbox final {
 public:
  /// Recreates the schema, registers `handlers` handlers on `topic` and writes the first positions of its partitions.
  InProcessInbox(const Options& options, const std::string& database_url, const std::string& topic, int handlers,
                 int days_ahead = 7);

  struct Load {
    std::uint64_t seed = 1;
    std::chrono::milliseconds lease{30'000};  ///< 0: due at once
    /// Called on the ingesting thread for each stored batch.
    std::function<void(const inbox::IngestBatch&, event::Microseconds received_at)> stored = {};
    const inbox::LedgerFilters* filters = nullptr;  ///< null: the ledger has no frozen generations
  };
  struct Counts {
    std::int64_t stored = 0;
    std::int64_t duplicates = 0;
  };
  /// Ingests `options.events` generated events and measures it. A second call continues at the next offsets.
  MeasuredRun ingest(const Load& load, Counts* counts = nullptr);

  std::unique_ptr<inbox::Connection> connect(const std::string& purpose);
  const base::Uuid& owner() const { return owner_; }
  const inbox::Routing& routing() const { return routing_; }
  const std::string& database_url() const { return settings_.url; }

 private:
  void ingest_part(int worker, const Load& load, Counts& counts);
  inbox::IngestBatch planned(const SourceBatch& source, const inbox::Routing& routing, const Load& load) const;

  Options options_;
  config::Database settings_;
  base::Logger log_{base::LogLevel::warn, base::LogFormat::text};
  inbox::Watchdog watchdog_;
  base::Uuid owner_ = base::random_uuid();
  inbox::Routing routing_;
  std::vector<inbox::ShardPosition> shards_;  ///< by partition; each ingest moves their next offsets
};

/// Handlers noop_1, noop_2, …
std::vector<config::Handler> noop_handlers(int count, const std::string& topic);

/// Replaces the schema by an empty, migrated schema.
void fresh_schema(inbox::Connection& connection, PostgresSession& session, int days_ahead);

/// Of all frozen generations, as maintenance makes them. Returns the seconds.
double make_filters(inbox::Connection& connection, inbox::LedgerFilters& filters);

}  // namespace inboxd::bench
