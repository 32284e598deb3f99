// Local events: what enqueue costs the application, against a bare insert of the same row.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "in_process_inbox.hpp"
#include "inbox/local_events.hpp"
#include "postgres_session.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* topic = "signup";
constexpr int applications = 4;
constexpr int bulk_events = 10'000;  ///< of a call
constexpr int slices = 5;  ///< of a round: the machine's other work meets both statements
constexpr auto slice_time = std::chrono::seconds{1};

/// Transactions a second of all applications, each with the statement alone.
double transactions(const std::string& url, const std::string& statement) {
  std::atomic<std::int64_t> count{0};
  const auto end = Clock::now() + slice_time;
  std::vector<std::thread> threads;
  for (int i = 0; i < applications; ++i) {
    threads.emplace_back([&] {
      PostgresSession session{url};
      session.prepare("one", statement);
      while (Clock::now() < end) {
        session.call("one", {});
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(count) / static_cast<double>(slice_time.count());
}

/// Events a second, from arrays that are in the server already.
double bulk(PostgresSession& session, std::int64_t events) {
  session.run(
      "create temp table arrays as select array_agg(convert_to(repeat('x', 200), 'UTF8')) as payloads, "
      "array_agg(convert_to('k' || i, 'UTF8')) as keys from generate_series(1, " +
      std::to_string(bulk_events) + ") i");
  const auto began = Clock::now();
  for (std::int64_t done = 0; done < events; done += bulk_events) {
    session.run("select count(*) from arrays a, inbox.enqueue_batch('" + std::string{topic} +
                "', null, a.payloads, key => a.keys)");
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  session.run("drop table arrays");
  return static_cast<double>(events) / took.count();
}

}  // namespace

void measure_local(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  InProcessInbox local_inbox{options, database.url(), "bench", 1};
  inbox::declare_local(*local_inbox.connect("declare"), {{topic, 1 << 20}});
  PostgresSession session{database.url()};
  const std::string shard = session.text("select shard_id from inbox.local_topic");
  const std::string bare =
      "insert into inbox.local_event (shard_id, event_id, event_type, key, payload) values (" + shard +
      ", gen_random_uuid(), 'made', convert_to('k', 'UTF8'), convert_to(repeat('x', 200), 'UTF8'))";
  const std::string enqueue = "select inbox.enqueue('" + std::string{topic} +
                              "', 'made', convert_to(repeat('x', 200), 'UTF8'), key => convert_to('k', 'UTF8'))";
  std::vector<double> ratios, rates;
  for (int round = 0; round < options.rounds; ++round) {
    double inserts = 0, enqueues = 0;
    const int count = options.smoke ? 1 : slices;
    for (int i = 0; i < count; ++i) {
      inserts += transactions(database.url(), bare) / count;
      enqueues += transactions(database.url(), enqueue) / count;
    }
    report.note("transactions of one event, " + std::to_string(applications) + " sessions: insert " +
                rate_text(inserts) + ", enqueue " + rate_text(enqueues));
    ratios.push_back(enqueues / inserts);
    session.run("truncate inbox.local_event");
    rates.push_back(bulk(session, options.smoke ? bulk_events : 20 * bulk_events));
    report.note("enqueue_batch, " + std::to_string(bulk_events) + " events a call: " + rate_text(rates.back()));
    session.run("truncate inbox.local_event");
  }
  report.goal("enqueue in a transaction of its own, of a bare insert", fixed(median(ratios), 2), ">= 0.90",
              median(ratios) >= 0.9);
  report.goal("enqueue_batch", rate_text(median(rates)), ">= 100k/s", median(rates) >= 100'000);
}

}  // namespace inboxd::bench
