#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admin/exposition.hpp"
#include "admin/http_server.hpp"
#include "consumer/consumer.hpp"
#include "maintenance/maintenance.hpp"
#include "relay/sender.hpp"
#include "settler/settler.hpp"
#include "trace/tracer.hpp"
#include "webhook/port.hpp"
#include "workers/dispatcher.hpp"

namespace inboxd::daemon {

struct HandlerFigures {
  std::string name;
  dispatcher::Stats stats;
  settler::OutcomeCounts::Handler outcomes;
};

/// The input of all metrics, read at a single moment. A null pointer stands for a part that does not exist yet.
struct Figures {
  bool is_ready = false;
  bool is_paused = false;
  double start_time = 0;  ///< seconds since 1970, like all times here
  double last_poll = 0;
  double last_settle = 0;
  bool last_reload_succeeded = true;
  double last_reload = 0;  ///< the last successful reload; the start counts
  std::vector<consumer::PartitionStatus::Entry> partitions;
  std::int64_t unknown_topics = 0;
  std::uint64_t remade_clients = 0;
  std::map<std::string, std::uint64_t> kafka_errors;
  std::vector<HandlerFigures> handlers;
  maintenance::Maintenance::Observed observed;
  std::vector<base::Logger::Kind> log_kinds;
  std::uint64_t log_lines_lost = 0;
  const consumer::IngestCounts* ingest = nullptr;
  const settler::Settler::Counters* settled = nullptr;
  const inbox::ConnectionCounts* connections = nullptr;
  const admin::HttpServer::Counts* http = nullptr;
  const trace::Counts* traces = nullptr;
  const relay::Counts* relay = nullptr;
  const webhook::Port* webhooks = nullptr;
};

/// A row of the table: the metric, and a function that collects its values.
struct MetricRow {
  admin::Metric about;
  void (*collect)(const Figures& figures, admin::Exposition& into);
};

/// The rows of the Kafka clients and of partitions (metrics_kafka.cpp).
void add_kafka_metrics(std::vector<MetricRow>& rows);
/// The rows of `status` (metrics_findings.cpp).
void add_finding_metrics(std::vector<MetricRow>& rows);
/// The rows of ingest.listen (metrics_webhook.cpp).
void add_webhook_metrics(std::vector<MetricRow>& rows);
/// The rows of the outbox (metrics_outbox.cpp).
void add_outbox_metrics(std::vector<MetricRow>& rows);

/// Every metric, in reading order.
const std::vector<MetricRow>& metrics_table();

/// All metrics in Prometheus's text format.
std::string metrics_text(const Figures& figures);

/// The text of config/metrics.md.
std::string metrics_reference();

}  // namespace inboxd::daemon
