#include "in_process_inbox.hpp"

#include <stdexcept>

#include "base/heartbeat.hpp"
#include "base/stop_signal.hpp"
#include "inbox/database_error.hpp"
#include "inbox/migrations.hpp"
#include "inbox/upkeep.hpp"
#include "maintenance/generations.hpp"

namespace inboxd::bench {

std::vector<config::Handler> noop_handlers(int count, const std::string& topic) {
  std::vector<config::Handler> out;
  for (int i = 1; i <= count; ++i) {
    config::Handler handler;
    handler.name = "noop_" + std::to_string(i);
    handler.mode = config::Mode::single;
    handler.topics = {topic};
    out.push_back(handler);
  }
  return out;
}

void fresh_schema(inbox::Connection& connection, PostgresSession& session, int days_ahead) {
  session.run("drop schema if exists inbox cascade");
  const auto migrated = inbox::migrate(connection, "inbox", [](const inbox::Migration&) {});
  if (!migrated) throw std::runtime_error{migrated.problem().message};
  inbox::make_partitions(connection, days_ahead);
  session.run("checkpoint");
}

InProcessInbox::InProcessInbox(const Options& options, const std::string& database_url, const std::string& topic,
                               int handlers, int days_ahead)
    : options_{options} {
  settings_.url = database_url;
  PostgresSession session{database_url};
  const auto connection = connect("bench");
  fresh_schema(*connection, session, days_ahead);
  inbox::register_handlers(*connection, noop_handlers(handlers, topic));
  routing_ = inbox::read_routing(*connection);
  std::vector<inbox::FirstPosition> first;
  for (int partition = 0; partition < options.partitions; ++partition) first.push_back({topic, "", partition, 0});
  inbox::write_first_positions(*connection, first);
  for (int partition = 0; partition < options.partitions; ++partition) {
    shards_.push_back(inbox::find_position(*connection, topic, partition).value());
  }
}

std::unique_ptr<inbox::Connection> InProcessInbox::connect(const std::string& purpose) {
  return std::make_unique<inbox::Connection>(settings_, purpose, watchdog_, log_);
}

inbox::IngestBatch InProcessInbox::planned(const SourceBatch& source, const inbox::Routing& routing,
                                           const Load& load) const {
  inbox::IngestBatch batch;
  batch.owner = owner_;
  batch.fence = base::random_fence();
  batch.routing_version = routing.version;
  batch.events = source.events;
  batch.suspects.emplace();
  if (load.filters != nullptr) batch.suspects = load.filters->suspects(routing.frozen, batch.events);
  for (event::Event& event : batch.events) {
    event.shard_id = shards_[static_cast<std::size_t>(event.shard_id)].shard_id;
  }
  for (const Slice& slice : source.slices) {
    const auto& shard = shards_[static_cast<std::size_t>(slice.partition)];
    batch.steps.push_back({shard.shard_id, shard.epoch, slice.offsets.first, slice.offsets.end, -1});
    for (const inbox::Subscription& handler : routing.handlers) {
      batch.runs.push_back({handler.handler_id, shard.shard_id, event::OffsetSet{slice.offsets}, load.lease});
    }
  }
  return batch;
}

void InProcessInbox::ingest_part(int worker, const Load& load, Counts& counts) {
  const auto connection = connect("bench ingest");
  EventSource source{options_, worker, load.seed, shards_[static_cast<std::size_t>(worker)].next_offset};
  SourceBatch from_source;
  inbox::Routing routing = routing_;
  while (source.next(from_source)) {
    inbox::IngestBatch batch = planned(from_source, routing, load);
    auto result = inbox::ingest(*connection, batch);
    if (result.routing_is_stale) {  // a daemon registered its handlers meanwhile, or a generation was frozen
      routing = inbox::read_routing(*connection);
      batch = planned(from_source, routing, load);
      result = inbox::ingest(*connection, batch);
    }
    if (result.routing_is_stale) throw std::runtime_error{"ingest: the routing changed twice"};
    if (!result.mismatched.empty()) throw std::runtime_error{"ingest: a position does not match"};
    counts.stored += result.stored;
    counts.duplicates += result.duplicates;
    if (load.stored) load.stored(batch, result.received_at);
  }
}

MeasuredRun InProcessInbox::ingest(const Load& load, Counts* counts) {
  PostgresSession control{settings_.url};
  control.run("checkpoint");
  MeasuredRun run;
  run.events = EventSource::total(options_);
  std::vector<Counts> parts(static_cast<std::size_t>(options_.connections));
  CostMeasurement measurement{control, options_.kafka};
  on_threads(options_.connections,
             [&](int worker) { ingest_part(worker, load, parts[static_cast<std::size_t>(worker)]); });
  run.cost = measurement.stop();
  run.seconds = run.cost.seconds;
  Counts sum;
  for (const Counts& part : parts) {
    sum.stored += part.stored;
    sum.duplicates += part.duplicates;
  }
  for (auto& shard : shards_) shard.next_offset += run.events / options_.partitions;
  if (sum.stored + sum.duplicates != run.events) throw std::runtime_error{"ingest: events are missing"};
  if (counts != nullptr) *counts = sum;
  return run;
}

double make_filters(inbox::Connection& connection, inbox::LedgerFilters& filters) {
  config::Settings settings;
  settings.ledger.filter_bytes = std::size_t{8} << 30;
  base::Heartbeat heartbeat;
  base::StopSignal stop;
  base::Logger log{base::LogLevel::warn, base::LogFormat::text};
  maintenance::Turn turn{heartbeat, stop};
  maintenance::Generations generations{settings, filters, connection, turn, log};
  const auto began = std::chrono::steady_clock::now();
  turn.begin(began + std::chrono::hours{1});
  generations.load_filters();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace inboxd::bench
