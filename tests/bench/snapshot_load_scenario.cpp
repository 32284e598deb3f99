// A session keeps an old snapshot open at full load. Records are produced at the same time, so that the broker does not
// have to hold all.
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "daemon_run.hpp"
#include "scenarios.hpp"
#include "snapshot.hpp"
#include "topic.hpp"

namespace inboxd::bench {
namespace {

/// Lead over the stored events, so that the daemon never waits for the producer.
constexpr std::int64_t max_ahead = 400'000;
constexpr std::chrono::seconds smoke_time{1};
constexpr std::chrono::milliseconds poll_interval{20};
/// Retention of a partition: many times `max_ahead`.
constexpr std::int64_t kept_bytes = 512 << 20;

std::int64_t stored(PostgresSession& session) {
  return session.number(
      "select coalesce(sum(n.next_offset), 0)::bigint from inbox.shard s cross join lateral (select next_offset from "
      "inbox.position p where p.shard_id = s.shard_id order by epoch desc, first_offset desc limit 1) n");
}

/// Produces to a topic with a bounded lead over the daemon, until it is stopped.
class Producer final {
 public:
  Producer(const Options& options, Topic& topic, const std::string& url) : topic_{topic}, session_{url} {
    thread_ = std::jthread{[this, payload = options.payload](const std::stop_token& stop) {
      try {
        produce(Generator{1, payload}, stop);
      } catch (...) {
        thrown_ = std::current_exception();
      }
    }};
  }

  std::int64_t finish() {
    thread_.request_stop();
    thread_.join();
    if (thrown_) std::rethrow_exception(thrown_);
    return sent_;
  }

 private:
  void produce(const Generator& generator, const std::stop_token& stop) {
    constexpr std::int64_t portion = 20'000;
    while (!stop.stop_requested()) {
      if (sent_ - stored(session_) > max_ahead - portion) {
        std::this_thread::sleep_for(poll_interval);
        continue;
      }
      topic_.preload(generator, sent_, portion);
      sent_ += portion;
    }
  }

  Topic& topic_;
  PostgresSession session_;
  std::int64_t sent_ = 0;
  std::exception_ptr thrown_;
  std::jthread thread_;
};

/// Ratio of rates: the last three tenths to the first three.
double measure(const Options& options, std::chrono::seconds time, bool with_snapshot, Report& report) {
  const ScratchDatabase database{options.postgres};
  PostgresSession control{database.url()};
  Topic topic{options.kafka, options.partitions, kept_bytes};
  const DaemonSettings settings = with_some_retries(database.url(), topic.name());
  fresh_inbox(options, settings, control);
  std::unique_ptr<OldSnapshot> snapshot;
  if (with_snapshot) snapshot = std::make_unique<OldSnapshot>(database.url());

  ClaimSampler claims{database.url(), time};
  CostMeasurement measurement{control, options.kafka};
  BenchDaemon daemon{options, settings, false};
  Producer producer{options, topic, database.url()};
  claims.start();
  std::this_thread::sleep_for(time);
  claims.finish();
  const std::int64_t sent = producer.finish();
  const auto settled = [&] {
    return stored(control) >= sent && control.text("select exists (select from inbox.delivery)") == "f";
  };
  while (!settled()) {
    if (!daemon.is_running()) daemon.wait();
    std::this_thread::sleep_for(poll_interval);
  }
  daemon.stop();
  Cost cost = measurement.stop();
  cost.own_cpu = daemon.cpu_seconds();
  check_counts(control, sent, sent);

  const std::string kind = with_snapshot ? "old snapshot" : "no snapshot";
  const double seconds =
      control.real("select extract(epoch from max(finished_at) - min(finished_at)) from inbox.outcome");
  report.run(kind, {sent, seconds, cost});
  report.note("each tenth: " +
              each_tenth([&](double from, double to) { return rate_text(rate_between(control, from, to)); }));
  const double kept = rate_between(control, 1 - compared, 1) / rate_between(control, 0, compared);
  report.note("last three tenths, of the first three: " + fixed(kept, 2));
  if (with_snapshot) claims.show("full load", report);
  return kept;
}

}  // namespace

void measure_old_snapshot_load(const Options& options, Report& report) {
  const std::chrono::seconds time = options.smoke ? smoke_time : options.duration;
  const double with = measure(options, time, true, report);
  const double without = measure(options, time, false, report);
  report.goal("full load: end of the run, of its begin", fixed(with, 2), ">= 0.90", with >= 0.9);
  report.goal("full load: end of the run, of its begin, as without a snapshot", fixed(with / without, 2), ">= 0.90",
              with / without >= 0.9);
}

}  // namespace inboxd::bench
