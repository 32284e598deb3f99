#include "daemon/metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "config/wrap.hpp"
#include "inbox/operations.hpp"
#include "kafka/properties.hpp"

namespace inboxd::daemon {
namespace {

using admin::Exposition;
using admin::Metric;
using consumer::Board;
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
void each_partition(const Figures& figures, Exposition& out, Value value) {
  for (const Board::Entry& entry : figures.partitions) {
    const std::string number = std::to_string(entry.partition.partition);
    if (const auto found = value(entry)) out.add({entry.partition.topic, number}, *found);
  }
}

std::optional<std::int64_t> known(std::int64_t offset) { return offset < 0 ? std::nullopt : std::optional{offset}; }

std::optional<std::int64_t> lag_of(const Board::Entry& entry) {
  if (entry.position < 0 || entry.high_watermark < 0) return std::nullopt;
  return std::max<std::int64_t>(entry.high_watermark - entry.position, 0);
}

template <class Value>
void each_handler(const Figures& figures, Exposition& out, Value value) {
  for (const HandlerFigures& handler : figures.handlers) out.add({handler.name}, value(handler));
}

template <class Value>
void each_seen(const Figures& figures, Exposition& out, Value value) {
  for (const inbox::HandlerState& handler : figures.seen.handlers) {
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
  rows.push_back(gauge("build_info", "Always 1; the labels say what runs.", {"version", "librdkafka"},
                       [](const Figures&, Exposition& out) {
                         const std::string library = kafka::library_version();
                         out.add({INBOXD_VERSION, library}, std::uint64_t{1});
                       }));
  rows.push_back(gauge("ready", "1 once it has started and until it stops.", {},
                       [](const Figures& figures, Exposition& out) { out.add(std::int64_t{figures.is_ready}); }));
  rows.push_back(gauge("paused", "1 while all handlers are paused in this instance.", {},
                       [](const Figures& figures, Exposition& out) { out.add(std::int64_t{figures.is_paused}); }));
  rows.push_back(gauge("process_start_time_seconds", "When the process started.", {},
                       [](const Figures& figures, Exposition& out) { out.add(figures.start_time); }));
  rows.push_back(gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.", {},
                       [](const Figures&, Exposition& out) { out.add(resident_bytes()); }));
  rows.push_back(counter("process_cpu_seconds_total", "CPU time of the process.", {},
                         [](const Figures&, Exposition& out) { out.add(cpu_seconds()); }));
  rows.push_back(gauge("process_open_descriptors", "Open files and sockets.", {},
                       [](const Figures&, Exposition& out) { out.add(open_descriptors()); }));
  rows.push_back(gauge("config_last_reload_successful", "0 where the last reload was refused and the old one stays.",
                       {},
                       [](const Figures& figures, Exposition& out) { out.add(std::int64_t{figures.reload_worked}); }));
  rows.push_back(gauge("config_last_reload_success_timestamp_seconds", "When the configuration was last taken.", {},
                       [](const Figures& figures, Exposition& out) { out.add(figures.last_reload); }));
  rows.push_back(counter("log_lines_total",
                         "Log lines by level and kind (the sentence), those that log.level keeps back included, except "
                         "of debug.",
                         {"level", "kind"}, [](const Figures& figures, Exposition& out) {
                           for (const auto& kind : figures.log_kinds) {
                             out.add({base::name_of(kind.level), kind.sentence}, kind.lines);
                           }
                         }));
  rows.push_back(counter("log_lines_lost_total", "Log lines that the journal did not take in time.", {},
                         [](const Figures& figures, Exposition& out) { out.add(figures.log_lines_lost); }));
}

void add_kafka(std::vector<MetricRow>& rows) {
  rows.push_back(gauge("last_poll_timestamp_seconds", "When the poll thread last moved.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.last_poll > 0) out.add(figures.last_poll);
                       }));
  rows.push_back(counter("kafka_errors_total",
                         "Complaints of the client library by its name of the error; unanswered: questions about "
                         "topics and offsets that no broker answered in time.",
                         {"error"}, [](const Figures& figures, Exposition& out) {
                           for (const auto& [error, count] : figures.kafka_errors) out.add({error}, count);
                         }));
  rows.push_back(gauge("topics_unknown", "Configured topics that the brokers do not know, or may not show.", {},
                       [](const Figures& figures, Exposition& out) { out.add(figures.unknown_topics); }));
  rows.push_back(
      gauge("partitions", "Partitions that are assigned to this instance, by what they do.", {"state"},
            [](const Figures& figures, Exposition& out) {
              for (const auto state : {Board::State::looking_up, Board::State::reading, Board::State::halted}) {
                out.add({name_of(state)},
                        std::int64_t{std::count_if(figures.partitions.begin(), figures.partitions.end(),
                                                   [&](const auto& entry) { return entry.state == state; })});
              }
            }));
  rows.push_back(counter("partition_received_total", "Records that came and are stored, or were there already.",
                         {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                           each_partition(figures, out,
                                          [](const auto& entry) { return std::optional{entry.received}; });
                         }));
  rows.push_back(gauge("partition_position", "The next offset that is not in the inbox yet.", {"topic", "partition"},
                       [](const Figures& figures, Exposition& out) {
                         each_partition(figures, out, [](const auto& entry) { return known(entry.position); });
                       }));
  rows.push_back(gauge("partition_high_watermark", "The end of the partition, as the brokers last said.",
                       {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                         each_partition(figures, out, [](const auto& entry) { return known(entry.high_watermark); });
                       }));
  rows.push_back(gauge("partition_lag", "Records that are not in the inbox yet.", {"topic", "partition"},
                       [](const Figures& figures, Exposition& out) { each_partition(figures, out, lag_of); }));
  rows.push_back(gauge("partition_halted", "1 where a partition stands still until somebody looks: inboxd shards list.",
                       {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                         each_partition(figures, out, [](const auto& entry) {
                           return std::optional<std::int64_t>{entry.state == Board::State::halted};
                         });
                       }));
}

void add_ingest(std::vector<MetricRow>& rows) {
  rows.push_back(counter("records_decoded_total",
                         "Records of stored batches by the envelope that recognised them and what they became.",
                         {"envelope", "result"}, [](const Figures& figures, Exposition& out) {
                           if (figures.ingest == nullptr) return;
                           for (std::size_t rule = 0; rule <= envelope::most_rules; ++rule) {
                             const std::string name = envelope::rule_name(rule);
                             for (std::size_t as = 0; as < envelope::decode_results; ++as) {
                               const std::uint64_t count = figures.ingest->decoded[rule][as];
                               if (count > 0) out.add({name, envelope::result_name(as)}, count);
                             }
                           }
                         }));
  rows.push_back(counter("ingest_records_total",
                         "Records by what became of them: new; duplicate: there already; conflict: the same id with "
                         "another payload; quarantined: no event could be made of them.",
                         {"result"}, [](const Figures& figures, Exposition& out) {
                           if (figures.ingest == nullptr) return;
                           out.add({"new"}, figures.ingest->stored.load());
                           out.add({"duplicate"}, figures.ingest->duplicates.load());
                           out.add({"conflict"}, figures.ingest->conflicts.load());
                           out.add({"quarantined"}, figures.ingest->quarantined.load());
                         }));
  rows.push_back(histogram("ingest_batch_seconds", "From a batch's first try to its commit.", {},
                           [](const Figures& figures, Exposition& out) {
                             if (figures.ingest != nullptr) out.add({}, figures.ingest->batch_seconds.snapshot());
                           }));
  rows.push_back(
      histogram("ingest_batch_records", "Records of a batch.", {}, [](const Figures& figures, Exposition& out) {
        if (figures.ingest != nullptr) out.add({}, figures.ingest->batch_records.snapshot());
      }));
  rows.push_back(counter("ingest_repeats_total", "Batches that had to be tried again.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.ingest != nullptr) out.add(figures.ingest->repeats.load());
                         }));
  rows.push_back(counter("ingest_mismatches_total", "Positions that were not what was expected.", {},
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
                         if (figures.seen.at_us > 0) out.add(static_cast<double>(figures.seen.at_us) / 1e6);
                       }));
  rows.push_back(gauge("backlog_events",
                       "Events that are owed to a handler, of all instances, by state. Counting stops at 12000 runs.",
                       {"handler", "state"}, [](const Figures& figures, Exposition& out) {
                         for (const auto& handler : figures.seen.handlers) {
                           if (handler.retired_at) continue;
                           out.add({handler.name, "due"}, handler.due.number);
                           out.add({handler.name, "leased"}, handler.leased.number);
                           out.add({handler.name, "retrying"}, handler.retrying.number);
                           out.add({handler.name, "waiting"}, handler.waiting.number);
                         }
                       }));
  rows.push_back(gauge("backlog_oldest_due_age_seconds",
                       "How long the oldest event has waited that is due and nobody has in hand; 0: none waits.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_seen(figures, out,
                                   [](const auto& handler) { return seconds_of(handler.oldest_due_age); });
                       }));
  rows.push_back(gauge("backlog_oldest_retrying_age_seconds",
                       "How long ago the oldest event came that has failed and is tried again; 0: there is none. "
                       "Looking stops at 12000 runs.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_seen(figures, out,
                                   [](const auto& handler) { return seconds_of(handler.oldest_retrying_age); });
                       }));
  rows.push_back(gauge("backfill_offsets", "Offsets of the past that a handler is still to be given.", {"handler"},
                       [](const Figures& figures, Exposition& out) {
                         each_seen(figures, out, [](const auto& handler) { return handler.backfill; });
                       }));
  rows.push_back(gauge("dead_letters", "Dead letters of a handler. Counting stops at 100000.", {"handler"},
                       [](const Figures& figures, Exposition& out) {
                         each_seen(figures, out, [](const auto& handler) { return handler.dead.number; });
                       }));
  rows.push_back(gauge("handler_paused", "1 where the handler is paused in table handler, which all instances obey.",
                       {"handler"}, [](const Figures& figures, Exposition& out) {
                         each_seen(figures, out,
                                   [](const auto& handler) { return std::int64_t{handler.paused_reason.has_value()}; });
                       }));
  rows.push_back(gauge("quarantined_records", "Records in quarantine. Counting stops at 100000.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.seen.at_us > 0) out.add(figures.seen.quarantined);
                       }));
}

void add_handlers(std::vector<MetricRow>& rows) {
  rows.push_back(counter("attempts_total", "Attempts by what was recorded of them: done, retried or dead.",
                         {"handler", "outcome"}, [](const Figures& figures, Exposition& out) {
                           for (const HandlerFigures& handler : figures.handlers) {
                             out.add({handler.name, "done"}, handler.tally.done);
                             out.add({handler.name, "retried"}, handler.tally.retried);
                             out.add({handler.name, "dead"}, handler.tally.dead);
                           }
                         }));
  rows.push_back(counter("failures_total",
                         "Failed attempts by class of error; a handler's classes beyond the first hundred are other.",
                         {"handler", "error_class"}, [](const Figures& figures, Exposition& out) {
                           for (const HandlerFigures& handler : figures.handlers) {
                             for (const auto& [name, count] : handler.tally.failures)
                               out.add({handler.name, name}, count);
                           }
                         }));
  rows.push_back(histogram("handler_call_seconds", "How long a handler's calls took.", {"handler"},
                           [](const Figures& figures, Exposition& out) {
                             each_handler(figures, out, [](const auto& handler) { return handler.stats.calls; });
                           }));
  rows.push_back(histogram("end_to_end_seconds",
                           "From a record's time in Kafka until it is recorded as done, by this machine's clock.",
                           {"handler"}, [](const Figures& figures, Exposition& out) {
                             for (const HandlerFigures& handler : figures.handlers) {
                               if (!handler.tally.end_to_end.counts.empty()) {
                                 out.add({handler.name}, handler.tally.end_to_end);
                               }
                             }
                           }));
  rows.push_back(counter("leases_lost_total", "Deliveries whose lease ran out before their outcome was recorded.",
                         {"handler"}, [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.tally.leases_lost; });
                         }));
  rows.push_back(gauge("in_hand_events", "Events in memory for a handler, until they are settled.", {"handler"},
                       [](const Figures& figures, Exposition& out) {
                         each_handler(figures, out, [](const auto& handler) { return handler.stats.in_hand; });
                       }));
  rows.push_back(
      gauge("in_hand_bytes", "Memory of those events.", {"handler"}, [](const Figures& figures, Exposition& out) {
        each_handler(figures, out, [](const auto& handler) { return handler.stats.in_hand_bytes; });
      }));
  rows.push_back(gauge("queued_events", "Events in memory that no call has begun for.", {"handler"},
                       [](const Figures& figures, Exposition& out) {
                         each_handler(figures, out, [](const auto& handler) { return handler.stats.queued; });
                       }));
  rows.push_back(counter("given_back_events_total", "Events that were given back to the database uncharged.",
                         {"handler"}, [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.stats.given_back; });
                         }));
  rows.push_back(counter("call_deadlines_total", "Calls that were given up because they did not return.", {"handler"},
                         [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.stats.deadlines; });
                         }));
  rows.push_back(counter("repeated_transactions_total",
                         "Handlers' transactions that ran again, uncharged: deadlocks, lost connections.", {"handler"},
                         [](const Figures& figures, Exposition& out) {
                           each_handler(figures, out, [](const auto& handler) { return handler.stats.repeated; });
                         }));
  rows.push_back(gauge("abandoned_calls", "Threads that are still in such a call.", {"handler"},
                       [](const Figures& figures, Exposition& out) {
                         each_handler(figures, out,
                                      [](const auto& handler) { return std::int64_t{handler.stats.abandoned}; });
                       }));
  rows.push_back(gauge("handler_stopped", "1 while too many calls never returned for it to go on.", {"handler"},
                       [](const Figures& figures, Exposition& out) {
                         each_handler(figures, out,
                                      [](const auto& handler) { return std::int64_t{handler.stats.stopped}; });
                       }));
}

void add_database(std::vector<MetricRow>& rows) {
  rows.push_back(gauge("last_settle_timestamp_seconds", "When the settler last moved.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.last_settle > 0) out.add(figures.last_settle);
                       }));
  rows.push_back(counter("settle_transactions_total", "Transactions that recorded outcomes, or tried to.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.settled != nullptr) out.add(figures.settled->transactions.load());
                         }));
  rows.push_back(gauge("database_connections", "Open connections to the database.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.connections != nullptr) out.add(figures.connections->open());
                       }));
  rows.push_back(counter("database_connections_opened_total", "Connections that were opened.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.connections != nullptr) out.add(figures.connections->opened.load());
                         }));
  rows.push_back(counter("database_connections_refused_total", "Connections that could not be opened.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.connections != nullptr) out.add(figures.connections->refused.load());
                         }));
  rows.push_back(gauge("database_last_answer_timestamp_seconds",
                       "When the database last took this instance's sign of life, which comes every ten seconds.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.seen.answered_us > 0) out.add(static_cast<double>(figures.seen.answered_us) / 1e6);
                       }));
  rows.push_back(gauge("day_partitions_until_timestamp_seconds",
                       "When the first day begins that has no partition to be stored in; they are made a week ahead.",
                       {}, [](const Figures& figures, Exposition& out) {
                         if (figures.seen.days_until_s > 0) out.add(figures.seen.days_until_s);
                       }));
  rows.push_back(gauge(
      "vacuum_pinned_seconds",
      "Age of the transaction (a session's, prepared, or a replication slot's) that keeps vacuum from cleaning up, "
      "from 5 minutes on; else 0.",
      {},
      [](const Figures& figures, Exposition& out) { out.add(static_cast<double>(figures.seen.pinned.count())); }));
}

void add_admin(std::vector<MetricRow>& rows) {
  rows.push_back(gauge("admin_connections", "Open connections to the admin port.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.http != nullptr) out.add(figures.http->open.load());
                       }));
  rows.push_back(
      counter("admin_requests_total", "Requests to the admin port.", {}, [](const Figures& figures, Exposition& out) {
        if (figures.http != nullptr) out.add(figures.http->requests.load());
      }));
  rows.push_back(counter("admin_requests_refused_total",
                         "Requests that were answered with 401 (a wrong token, or none), 403 (not from there, not "
                         "without a token, or not by this database role) or another status from 400 to 499.",
                         {"status"}, [](const Figures& figures, Exposition& out) {
                           if (figures.http == nullptr) return;
                           out.add({"401"}, figures.http->unauthorised.load());
                           out.add({"403"}, figures.http->forbidden.load());
                           out.add({"other"}, figures.http->other_refusals.load());
                         }));
  rows.push_back(counter("admin_connections_evicted_total",
                         "Connections to the admin port that were ended to make room for others.", {},
                         [](const Figures& figures, Exposition& out) {
                           if (figures.http != nullptr) out.add(figures.http->evicted.load());
                         }));
  rows.push_back(counter("trace_spans_total",
                         "Spans by what became of them: exported; dropped: the queue was full or "
                         "nobody took them; refused: the collector said no.",
                         {"outcome"}, [](const Figures& figures, Exposition& out) {
                           if (figures.traces == nullptr) return;
                           out.add({"exported"}, figures.traces->exported.load());
                           out.add({"dropped"}, figures.traces->dropped.load());
                           out.add({"refused"}, figures.traces->refused.load());
                         }));
}

std::vector<MetricRow> all_rows() {
  std::vector<MetricRow> rows;
  for (const auto add : {add_process, add_kafka, add_ingest, add_backlog, add_handlers, add_database, add_admin})
    add(rows);
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
  std::string out = "# Metrics\n\n" +
                    config::wrapped("", "",
                                    "At `/metrics` of the admin port, in Prometheus's text format. Made from the table "
                                    "in src/daemon/metrics.cpp; labels are bounded by what is configured. Counters are "
                                    "this instance's since its start; what is counted in the database is of all "
                                    "instances of a group, so take `max by (job, ...)` over them, not `sum`.") +
                    "\n| metric | kind | labels | what it is |\n|---|---|---|---|\n";
  for (const MetricRow& row : metrics_table()) {
    std::string labels;
    for (const std::string& label : row.about.labels) labels += (labels.empty() ? "" : ", ") + label;
    out +=
        "| `" + row.about.name + "` | " + kind_text(row.about.kind) + " | " + labels + " | " + row.about.help + " |\n";
  }
  return out;
}

}  // namespace inboxd::daemon
