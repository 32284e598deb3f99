// The outbox: the relay alone, and a sql handler that publishes a message for each event to a second topic.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "kafka_bench.hpp"
#include "latency.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto poll_interval = 5ms;
constexpr auto drain_limit = std::chrono::minutes{10};
constexpr int enough_connections = 24;
constexpr double steady_rate = 1'000;

void wait_for(BenchDaemon& daemon, PostgresSession& session, const std::string& sql, std::int64_t wanted) {
  const auto end = Clock::now() + drain_limit;
  while (session.number(sql) < wanted) {
    if (!daemon.is_running()) daemon.wait();
    if (Clock::now() > end) throw std::runtime_error{"timed out: " + sql};
    std::this_thread::sleep_for(poll_interval);
  }
}

DaemonSettings publishing(const std::string& database_url, const Topic& source, const Topic& sink) {
  DaemonSettings out;
  out.database_url = database_url;
  out.topic = source.name();
  out.types = "[" + source.name() + "]";
  out.plugin = "sql";
  out.handler_settings =
      "{statement: \"select inbox.publish('" + sink.name() + "', convert_to(key, 'UTF8'), payload) from events\"}";
  out.connections = enough_connections;
  return out;
}

/// Messages that are in the outbox when the daemon starts; ends when the last message is deleted.
MeasuredRun measure_relay(const Options& options, PostgresSession& control, const DaemonSettings& settings,
                          const Topic& sink) {
  fresh_inbox(options, settings, control);
  control.run("select count(inbox.publish('" + sink.name() +
              "', convert_to('key-' || i % 10000, 'UTF8'), convert_to("
              "rpad('{\"n\": ' || i || ', \"x\": \"', " +
              std::to_string(options.payload - 2) + ", 'x') || '\"}', 'UTF8'))) from generate_series(1, " +
              std::to_string(options.events) + ") i");
  control.run("vacuum analyze inbox.outbox");
  control.run("checkpoint");
  CostMeasurement measurement{control, options.kafka};
  BenchDaemon daemon{options, settings, false};
  wait_for(daemon, control, "select count(*) from inbox.relay where owner is not null", 1);
  const auto began = Clock::now();
  wait_for(daemon, control, "select (not exists (select from inbox.outbox))::int", 1);
  MeasuredRun run{options.events, std::chrono::duration<double>(Clock::now() - began).count(), measurement.stop()};
  daemon.stop();
  run.cost.own_cpu = daemon.cpu_seconds();
  return run;
}

MeasuredRun measure_chain(const Options& options, PostgresSession& control, DaemonSettings settings,
                          const Topic& sink) {
  settings.read_back = sink.name();
  fresh_inbox(options, settings, control);
  CostMeasurement measurement{control, options.kafka};
  BenchDaemon daemon{options, settings, false};
  // The outbox is empty before the first message, too.
  wait_for(daemon, control,
           "select coalesce(sum(next), 0) from (select max(next_offset) as next from inbox.position "
           "group by shard_id) p",
           2 * options.events);
  MeasuredRun run;
  run.events = options.events;
  run.cost = measurement.stop();
  run.seconds = control.real("select extract(epoch from max(received_at) - min(received_at)) from inbox.event");
  daemon.stop();
  run.cost.own_cpu = daemon.cpu_seconds();
  check_counts(control, 2 * options.events, options.events);
  return run;
}

}  // namespace

void measure_outbox_relay(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  PostgresSession control{database.url()};
  const Topic source{options.kafka, options.partitions};
  const double rate = median_rate(options, report, "relay", [&] {
    const Topic sink{options.kafka, options.partitions};
    return measure_relay(options, control, publishing(database.url(), source, sink), sink);
  });
  report.goal("relay alone", rate_text(rate), ">= 80k/s", rate >= 80'000);
}

void measure_outbox(const Options& options, Report& report) {
  KafkaBench bench{options};
  const double rate = median_rate(options, report, "sql, publish", [&] {
    const Topic sink{options.kafka, options.partitions};
    return measure_chain(options, bench.control, publishing(bench.database.url(), bench.topic, sink), sink);
  });
  report.goal("a message for each event, from topic to topic to inbox", rate_text(rate), ">= 40k/s", rate >= 40'000);
}

void measure_outbox_latency(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  PostgresSession control{database.url()};
  Topic source{options.kafka, options.partitions};
  const Topic sink{options.kafka, options.partitions};
  DaemonSettings settings = publishing(database.url(), source, sink);
  settings.handler_keys = "concurrency: 8";
  fresh_inbox(options, settings, control);
  BenchDaemon daemon{options, settings, false};
  wait_for(daemon, control, "select count(*) from inbox.relay where owner is not null", 1);
  const auto events = static_cast<std::int64_t>(steady_rate) * (options.smoke ? 2 : 20);
  std::atomic<bool> stop{false};
  Latencies latencies;
  std::int64_t seen = 0;
  std::thread consumer{[&] {
    consume_plainly(
        options.kafka, sink.name(), sink.partitions(),
        [&](std::string_view payload) {
          if (const auto took = microseconds_since_sending(payload)) latencies.push_back(*took);
          return ++seen < events;
        },
        [&] { return !stop; });
  }};
  source.produce_steadily(Generator{1, options.payload}, steady_rate, events, stop);
  consumer.join();
  daemon.stop();
  report.note("from sending an event to a consumer of its message: " + percentiles_text(latencies, 0.15));
  const double p99 = percentile_ms(latencies, 0.99, 0.15);
  report.goal("topic to topic at 1,000/s, p99", fixed(p99, 1) + " ms", "< 50 ms", p99 < 50);
}

}  // namespace inboxd::bench
