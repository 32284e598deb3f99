#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admin/exposition.hpp"
#include "admin/http_server.hpp"
#include "consumer/consumer.hpp"
#include "dispatcher/dispatcher.hpp"
#include "maintenance/maintenance.hpp"
#include "settler/settler.hpp"
#include "trace/tracer.hpp"

namespace inboxd::daemon {

/// A handler in figures.
struct HandlerFigures {
  std::string name;
  dispatcher::Stats stats;
  settler::Tallies::Tally tally;
};

/// Everything that metrics are made of, read at one moment. What belongs to a part that is not there is null.
struct Figures {
  bool is_ready = false;
  bool is_paused = false;
  double start_time = 0;  ///< seconds since 1970, like all times here
  double last_poll = 0;
  double last_settle = 0;
  bool reload_worked = true;
  double last_reload = 0;  ///< that worked; the start is one
  std::vector<consumer::Board::Entry> partitions;
  std::int64_t unknown_topics = 0;
  std::map<std::string, std::uint64_t> kafka_errors;
  std::vector<HandlerFigures> handlers;
  maintenance::Maintenance::Seen seen;
  std::vector<base::Logger::Kind> log_kinds;
  std::uint64_t log_lines_lost = 0;
  const consumer::IngestCounts* ingest = nullptr;
  const settler::Settler::Counters* settled = nullptr;
  const inbox::ConnectionCounts* connections = nullptr;
  const admin::HttpServer::Counts* http = nullptr;
  const trace::Counts* traces = nullptr;
};

/// A row of the list of metrics: what it is and where its values come from.
struct MetricRow {
  admin::Metric about;
  void (*collect)(const Figures& figures, admin::Exposition& into);
};

/// Every metric there is, in the order in which people should read them.
const std::vector<MetricRow>& metrics_table();

/// All of it in Prometheus's text format.
std::string metrics_text(const Figures& figures);

/// The list as config/metrics.md has it.
std::string metrics_reference();

}  // namespace inboxd::daemon
