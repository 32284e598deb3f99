#include "daemon/metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "kafka/properties.hpp"
#include "operations/server_queries.hpp"

namespace inboxd::daemon {
namespace {

using admin::Exposition;
using admin::Metric;
using consumer::PartitionStatus;
using Kind = Metric::Kind;

MetricRow counter(std::string name, std::string help, std::vector<std::string> labels,
                  void (*collect)(const Figures&, Exposition&)) {
  return {{"inboxd_" + std::move(name), Kind::counter, std::move(help), std::move(labels)}, collect};
}
MetricRow gauge(std::string name, std::string help, std::vector<std::string> labels,
                void (*collect)(const Figures&, Exposition&)) {
  return {{"inboxd_" + std::move(name), Kind::gauge, std::move(help), std::move(labels)}, collect};
}
MetricRow histogram(std::string name, std::string help, std::vector<std::string> labels,
                    void (*collect)(const Figures&, Exposition&)) {
  return {{"inboxd_" + std::move(name), Kind::histogram, std::move(help), std::move(labels)}, collect};
}

template <class Value>
void each_handler(const Figures& figures, Exposition& out, Value value) {
  for (const HandlerFigures& handler : figures.handlers) out.add({handler.name}, value(handler));
}

template <auto member>
void each_stat(const Figures& figures, Exposition& out) {
  each_handler(figures, out, [](const auto& handler) { return static_cast<std::int64_t>(handler.stats.*member); });
}

template <class Value>
void each_observed(const Figures& figures, Exposition& out, Value value) {
  for (const operations::HandlerState& handler : figures.observed.handlers) {
    if (!handler.retired_at) out.add({handler.name}, value(handler));
  }
}

double resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::int64_t open_descriptors() {
  std::error_code error;
  std::int64_t count = 0;
  for (auto at = std::filesystem::directory_iterator{"/proc/self/fd", error}; !error && at != end(at);
       at.increment(error)) {
    ++count;
  }
  return count;
}

void add_process(std::vector<MetricRow>& rows) {
  rows.push_back(gauge("build_info", "Always 1; the labels hold the versions.", {"version", "librdkafka"},
                       [](const Figures&, Exposition& out) {
                         const std::string library = kafka::library_version();
                         out.add({INBOXD_VERSION, library}, std::uint64_t{1});
                       }));
  rows.push_back(gauge("ready", "1 from the end of the start until a stop.", {},
                       [](const Figures& figures, Exposition& out) { out.add(std::int64_t{figures.is_ready}); }));
  rows.push_back(gauge("paused", "1 while all handlers are paused in this instance.", {},
                       [](const Figures& figures, Exposition& out) { out.add(std::int64_t{figures.is_paused}); }));
  rows.push_back(gauge("process_start_time_seconds", "When the process started.", {},
                       [](const Figures& figures, Exposition& out) { out.add(figures.start_time); }));
  rows.push_back(gauge("process_resident_memory_bytes", "Resident memory of the process.", {},
                       [](const Figures&, Exposition& out) { out.add(resident_bytes()); }));
  rows.push_back(counter("process_cpu_seconds_total", "CPU time of the process.", {},
                         [](const Figures&, Exposition& out) { out.add(cpu_seconds()); }));
  rows.push_back(gauge("process_open_descriptors", "Open files and sockets.", {},
                       [](const Figures&, Exposition& out) { out.add(open_descriptors()); }));
  rows.push_back(gauge("config_last_reload_successful",
                       "0 if the last reload was refused and the old configuration stays.", {},
                       [](const Figures& figures, Exposition& out) {
                         out.add(std::int64_t{figures.last_reload_succeeded});
                       }));
  rows.push_back(gauge("config_last_reload_success_timestamp_seconds", "When the configuration was last loaded.", {},
                       [](const Figures& figures, Exposition& out) { out.add(figures.last_reload); }));
  rows.push_back(counter("log_lines_total",
                         "Log lines by level and kind (config/messages.md), including lines below log.level, except "
                         "debug.",
                         {"level", "kind"}, [](const Figures& figures, Exposition& out) {
                           for (const auto& kind : figures.log_kinds) {
                             out.add({base::name_of(kind.level), kind.slug}, kind.lines);
                           }
                         }));
  rows.push_back(counter("log_lines_lost_total", "Log lines that the journal or the reader of stderr did not take.", {},
                         [](const Figures& figures, Exposition& out) { out.add(figures.log_lines_lost); }));
}

void add_ingest(std::vector<MetricRow>& rows) {
  rows.push_back(counter("records_decoded_total", "Records of stored batches by envelope and result.",
                         {"envelope", "result"}, [](const Figures& figures, Exposition& out) {
                           if (figures.ingest == nullptr) return;
                           for (std::size_t rule = 0; rule <= envelope::max_rules; ++rule) {
                             const std::string name = envelope::rule_name(rule);
                             for (std::size_t as = 0; as < envelope::decode_results; ++as) {
                               const std::uint64_t count = figures.ingest->decoded[rule][as];
                               if (count > 0) out.add({name, envelope::result_name(as)}, count);
                             }
                           }
                         }));
  rows.push_back(counter("ingest_records_total",
                         "Records by result: new, duplicate (already stored), conflict (same id, another payload) or "
                         "quarantined (no event).",
                         {"result"}, [](const Figures& figures, Exposition& out) {
                           if (figures.ingest == nullptr) return;
                           out.add({"new"}, figures.ingest->stored.load());
                           out.add({"duplicate"}, figures.ingest->duplicates.load());
                           out.add({"conflict"}, figures.ingest->conflicts.load());
                           out.add({"quarantined"}, figures.ingest->quarantined.load());
                         }));
  rows.push_back(histogram("resend_age_seconds", "How long after an event its producer sent it again.", {},
                           [](const Figures& figures, Exposition& out) {
                             if (figures.ingest != nullptr) out.add({}, figures.ingest->resends.since_start());
                           }));
  rows.push_back(gauge("ledger_filters", "Filters of frozen generations of event ids in memory.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.ingest != nullptr) out.add(std::int64_t(figures.ingest->filters.count()));
                       }));
  rows.push_back(gauge("ledger_filter_bytes", "Their memory (ledger.filter_bytes).", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.ingest != nullptr) out.add(std::int64_t(figures.ingest->filters.bytes()));
                       }));
  rows.push_back(counter("unsubscribed_events_total", "Stored events that no handler subscribes to.", {"topic"},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.ingest == nullptr) return;
                           auto totals = figures.ingest->unsubscribed.totals();
                           for (const PartitionStatus::Entry& entry : figures.partitions)
                             totals[entry.partition.topic] += 0;
                           for (const auto& [topic, events] : totals) out.add({topic}, events);
                         }));
  rows.push_back(histogram("ingest_batch_seconds", "Time from a batch's first attempt to its commit.", {},
                           [](const Figures& figures, Exposition& out) {
                             if (figures.ingest != nullptr) out.add({}, figures.ingest->batch_seconds.snapshot());
                           }));
  rows.push_back(
      histogram("ingest_batch_records", "Records of a batch.", {}, [](const Figures& figures, Exposition& out) {
        if (figures.ingest != nullptr) out.add({}, figures.ingest->batch_records.snapshot());
      }));
  rows.push_back(counter("ingest_repeats_total", "Batches that were retried.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.ingest != nullptr) out.add(figures.ingest->repeats.load());
                         }));
  rows.push_back(counter("ingest_mismatches_total", "Batches that did not match the stored position.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.ingest != nullptr) out.add(figures.ingest->mismatches.load());
                         }));
}

double seconds_of(const std::optional<std::chrono::microseconds>& age) {
  return age ? static_cast<double>(std::max<std::int64_t>(age->count(), 0)) / 1e6 : 0;
}

void add_backlog(std::vector<MetricRow>& rows) {
  rows.push_back(gauge("observed_timestamp_seconds",
                       "When backlog, dead letters and quarantine were last counted in the database.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.observed.at_us > 0) out.add(static_cast<double>(figures.observed.at_us) / 1e6);
                       }));
  rows.push_back(gauge("backlog_events",
                       "Pending events of a handler in all instances, by state. Counting stops at 12000 runs.",
                       {"handler", "state"}, [](const Figures& figures, Exposition& out) {
                         for (const auto& handler : figures.observed.handlers) {
                           if (handler.retired_at) continue;
                           out.add({handler.name, "due"}, handler.due.number);
                           out.add({handler.name, "leased"}, handler.leased.number);
                           out.add({handler.name, "retrying"}, handler.retrying.number);
                           out.add({handler.name, "waiting"}, handler.waiting.number);
                         }
                       }));
  rows.push_back(gauge("backlog_oldest_due_age_seconds",
                       "How long the oldest due event that is not in flight has waited; 0: none.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_observed(figures, out,
                                   [](const auto& handler) { return seconds_of(handler.oldest_due_age); });
                       }));
  rows.push_back(gauge("backlog_oldest_retrying_age_seconds",
                       "Age of the oldest event that is being retried; 0: none. The search stops at 12000 runs.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_observed(figures, out,
                                   [](const auto& handler) { return seconds_of(handler.oldest_retrying_age); });
                       }));
  rows.push_back(gauge("backfill_offsets", "Offsets left to back-fill for a handler.", {"handler"},
                       [](const Figures& figures, Exposition& out) {
                         each_observed(figures, out, [](const auto& handler) { return handler.backfill; });
                       }));
  rows.push_back(gauge("dead_letters", "Dead letters of a handler, without parked events. Counting stops at 100000.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_observed(figures, out, [](const auto& handler) { return handler.dead.number; });
                       }));
  rows.push_back(gauge("handler_paused", "1 while the handler is paused in the database, for all instances.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_observed(figures, out,
                                   [](const auto& handler) { return std::int64_t{handler.paused_reason.has_value()}; });
                       }));
  rows.push_back(gauge("handler_without_instance", "1 if a handler has pending events and no live instance runs it.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_observed(figures, out, [&](const auto& handler) {
                           return std::int64_t{figures.observed.without_instance.contains(handler.name)};
                         });
                       }));
  rows.push_back(gauge("handler_topics_not_read", "Topics that a handler subscribes to and no live instance reads.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_observed(figures, out, [&](const auto& handler) {
                           return std::int64_t{
                               std::count_if(figures.observed.unread.begin(), figures.observed.unread.end(),
                                             [&](const auto& unread) { return unread.handler == handler.name; })};
                         });
                       }));
  rows.push_back(gauge("quarantined_records",
                       "Quarantined records by topic and reason. Counting stops at 100000 in total.",
                       {"topic", "reason"}, [](const Figures& figures, Exposition& out) {
                         for (const auto& group : figures.observed.quarantine.groups) {
                           out.add({group.topic, group.reason}, group.records);
                         }
                       }));
}

void add_handlers(std::vector<MetricRow>& rows) {
  rows.push_back(counter("attempts_total", "Recorded outcomes: done, retried, dead, expired or skipped.",
                         {"handler", "outcome"}, [](const Figures& figures, Exposition& out) {
                           for (const HandlerFigures& handler : figures.handlers) {
                             out.add({handler.name, "done"}, handler.outcomes.done);
                             out.add({handler.name, "retried"}, handler.outcomes.retried);
                             out.add({handler.name, "dead"}, handler.outcomes.dead);
                             out.add({handler.name, "expired"}, handler.outcomes.expired);
                             out.add({handler.name, "skipped"}, handler.outcomes.skipped);
                           }
                         }));
  rows.push_back(counter("failures_total",
                         "Failed attempts by error class; other: classes after a handler's first hundred.",
                         {"handler", "error_class"}, [](const Figures& figures, Exposition& out) {
                           for (const HandlerFigures& handler : figures.handlers) {
                             for (const auto& [name, count] : handler.outcomes.failures)
                               out.add({handler.name, name}, count);
                           }
                         }));
  rows.push_back(histogram("handler_call_seconds", "Duration of a handler's calls.", {"handler"},
                           [](const Figures& figures, Exposition& out) {
                             each_handler(figures, out, [](const auto& handler) { return handler.stats.calls; });
                           }));
  rows.push_back(histogram("end_to_end_seconds",
                           "Time from a record's timestamp in Kafka until it is recorded as done, by this machine's "
                           "clock.",
                           {"handler"}, [](const Figures& figures, Exposition& out) {
                             for (const HandlerFigures& handler : figures.handlers) {
                               if (!handler.outcomes.end_to_end.counts.empty()) {
                                 out.add({handler.name}, handler.outcomes.end_to_end);
                               }
                             }
                           }));
  rows.push_back(counter("leases_lost_total", "Deliveries with a lease that ended before their outcome was recorded.",
                         {"handler"}, [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.outcomes.leases_lost; });
                         }));
  using dispatcher::Stats;
  rows.push_back(gauge("in_hand_events", "Events in memory for a handler, until they are settled.", {"handler"},
                       each_stat<&Stats::in_flight>));
  rows.push_back(gauge("in_hand_bytes", "Memory of a handler's events.", {"handler"},
                       each_stat<&Stats::in_flight_bytes>));
  rows.push_back(gauge("queued_events", "Events in memory without a call.", {"handler"}, each_stat<&Stats::queued>));
  rows.push_back(gauge("sequences", "Sequences of a sequential handler that this instance runs.", {"handler"},
                       each_stat<&Stats::sequences>));
  rows.push_back(gauge("blocked_keys",
                       "Keys of these sequences that are slow, blocked by a failed event or parked by a dead letter; "
                       "run inboxd lanes list.", {"handler"}, each_stat<&Stats::blocked_keys>));
  rows.push_back(counter("given_back_events_total", "Events released to the database without a charge.",
                         {"handler"}, [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.stats.released; });
                         }));
  rows.push_back(gauge("limited", "1: events of the handler wait for rate or max_in_flight.", {"handler"},
                       each_stat<&Stats::limited>));
  rows.push_back(gauge("away", "1: the service of the handler is away.", {"handler"}, each_stat<&Stats::away>));
  rows.push_back(counter("call_deadlines_total", "Calls abandoned because they did not return.", {"handler"},
                         [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.stats.deadlines; });
                         }));
  rows.push_back(counter("repeated_transactions_total",
                         "Handlers' transactions retried without a charge: deadlocks, lock timeouts, lost "
                         "connections.",
                         {"handler"}, [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.stats.repeated; });
                         }));
  rows.push_back(gauge("abandoned_calls", "Threads still in an abandoned call.", {"handler"},
                       each_stat<&Stats::abandoned>));
  rows.push_back(gauge("handler_stopped", "1 while a handler is stopped because too many calls never returned.",
                       {"handler"}, each_stat<&Stats::stopped>));
}

void add_database(std::vector<MetricRow>& rows) {
  rows.push_back(gauge("last_settle_timestamp_seconds", "Last heartbeat of the settler.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.last_settle > 0) out.add(figures.last_settle);
                       }));
  rows.push_back(counter("settle_transactions_total", "Transactions that recorded outcomes, failed transactions "
                                                      "included.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.settled != nullptr) out.add(figures.settled->transactions.load());
                         }));
  rows.push_back(gauge("database_connections", "Open connections to the database.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.connections != nullptr) out.add(figures.connections->open());
                       }));
  rows.push_back(counter("database_connections_opened_total", "Connections opened.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.connections != nullptr) out.add(figures.connections->opened.load());
                         }));
  rows.push_back(counter("database_connections_refused_total", "Connections that could not be opened.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.connections != nullptr) out.add(figures.connections->refused.load());
                         }));
  rows.push_back(gauge("database_last_answer_timestamp_seconds",
                       "When the database last took this instance's heartbeat, sent every five seconds.", {},
                       [](const Figures& figures, Exposition& out) {
                         const std::int64_t answered_us = figures.observed.answered_us;
                         if (answered_us > 0) out.add(static_cast<double>(answered_us) / 1e6);
                       }));
  rows.push_back(gauge("day_partitions_until_timestamp_seconds",
                       "Start of the first day without a partition; partitions are made a week ahead.",
                       {}, [](const Figures& figures, Exposition& out) {
                         if (figures.observed.days_until_s > 0) out.add(figures.observed.days_until_s);
                       }));
  rows.push_back(gauge("vacuum_pinned_seconds",
                       "Age of the transaction (session, prepared or replication slot) that holds back vacuum, from "
                       "5 minutes on; else 0.",
                       {}, [](const Figures& figures, Exposition& out) {
                         out.add(static_cast<double>(figures.observed.pinned.count()));
                       }));
}

void add_admin(std::vector<MetricRow>& rows) {
  rows.push_back(gauge("admin_connections", "Open connections to the admin port.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.http != nullptr) out.add(figures.http->open.load());
                       }));
  rows.push_back(gauge("admin_requests_waiting", "Requests that wait for a thread of the admin port (admin.queue).", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.http != nullptr) out.add(figures.http->waiting.load());
                       }));
  rows.push_back(
      counter("admin_requests_total", "Requests to the admin port.", {}, [](const Figures& figures, Exposition& out) {
        if (figures.http != nullptr) out.add(figures.http->requests.load());
      }));
  rows.push_back(counter("admin_requests_refused_total",
                         "Requests answered with 401 (wrong or missing token), 403 (not from this address, not "
                         "without a token, or not with this database role), another 4xx status, or 503 (admin.queue "
                         "is full).",
                         {"status"}, [](const Figures& figures, Exposition& out) {
                           if (figures.http == nullptr) return;
                           out.add({"401"}, figures.http->unauthorised.load());
                           out.add({"403"}, figures.http->forbidden.load());
                           out.add({"503"}, figures.http->queue_full.load());
                           out.add({"other"}, figures.http->other_refusals.load());
                         }));
  rows.push_back(counter("admin_connections_evicted_total",
                         "Connections to the admin port closed to make room for others.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.http != nullptr) out.add(figures.http->evicted.load());
                         }));
  rows.push_back(counter("trace_spans_total",
                         "Spans by outcome: exported, dropped (queue full or collector unreachable), refused by the "
                         "collector.",
                         {"outcome"}, [](const Figures& figures, Exposition& out) {
                           if (figures.traces == nullptr) return;
                           out.add({"exported"}, figures.traces->exported.load());
                           out.add({"dropped"}, figures.traces->dropped.load());
                           out.add({"refused"}, figures.traces->refused.load());
                         }));
}

std::vector<MetricRow> all_rows() {
  std::vector<MetricRow> rows;
  for (const auto add : {add_process, add_kafka_metrics, add_ingest, add_webhook_metrics, add_backlog, add_handlers,
                         add_finding_metrics, add_outbox_metrics, add_database, add_admin}) add(rows);
  return rows;
}

const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::counter:
      return "counter";
    case Kind::gauge:
      return "gauge";
    case Kind::histogram:
      return "histogram";
  }
  return "";
}

}  // namespace

const std::vector<MetricRow>& metrics_table() {
  static const std::vector<MetricRow> rows = all_rows();
  return rows;
}

std::string metrics_text(const Figures& figures) {
  Exposition out;
  for (const MetricRow& row : metrics_table()) {
    out.begin(row.about);
    row.collect(figures, out);
  }
  return out.text();
}

std::string metrics_reference() {
  std::string out =
      "# Metrics\n\n" +
      base::wrapped("", "",
                    "At `/metrics` of the admin port, in Prometheus's text format. Generated from the table in "
                    "src/daemon/metrics.cpp. The configuration bounds all labels. Counters belong to this instance, "
                    "since its start. Values counted in the database are of all instances of a group: use "
                    "`max by (job, ...)`, not `sum`.") +
      "\n| metric | kind | labels | meaning |\n|---|---|---|---|\n";
  for (const MetricRow& row : metrics_table()) {
    std::string labels;
    for (const std::string& label : row.about.labels) labels += (labels.empty() ? "" : ", ") + label;
    out +=
        "| `" + row.about.name + "` | " + kind_text(row.about.kind) + " | " + labels + " | " + row.about.help + " |\n";
  }
  return out;
}

}  // namespace inboxd::daemon
