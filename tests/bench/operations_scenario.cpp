// What a person waits for: the commands that look at an inbox of many events, as processes, from start to end.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "room.hpp"
#include "scenarios.hpp"
#include "support/process.hpp"

namespace inboxd::bench {
namespace {

namespace files = std::filesystem;

constexpr const char* stored_topic = "orders";
constexpr int days = 12;
constexpr int times_each = 9;
constexpr int times_each_in_smoke = 2;
constexpr double goal_milliseconds = 100;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// Events of twelve days in all partitions, most of them done, by statements over whole sets: what the daemon would
/// have left behind. The newest tenth is owed, a thousandth failed, a ten-thousandth is dead.
void fill(const Options& options, Session& session) {
  const auto run = [&](std::string sql) {
    sql = replaced(std::move(sql), "EVENTS", std::to_string(options.events));
    sql = replaced(std::move(sql), "PARTITIONS", std::to_string(options.partitions));
    sql = replaced(std::move(sql), "DAYS", std::to_string(days - 1));
    session.run(sql);
  };
  for (const char* const table : {"event", "outcome", "failure"}) {
    session.run("do $$ declare d date; begin for i in 1.." + std::to_string(days) +
                " loop d := (now() at time zone 'UTC')::date - i; execute format('create table if not exists inbox." +
                table + "_%s partition of inbox." + table +
                " for values from (%L) to (%L)', to_char(d, 'YYYYMMDD'), d::timestamp at time zone 'UTC', "
                "(d + 1)::timestamp at time zone 'UTC'); end loop; end $$");
  }
  // One row for each event there is to be: its id, its place, its time.
  run("create view inbox.bench_event as select n, (select min(shard_id) from inbox.shard) + (n % PARTITIONS)::int as "
      "shard_id, n / PARTITIONS as \"offset\", ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as "
      "event_id, "
      "now() - interval '1 day' * (DAYS::float8 * (EVENTS - n) / EVENTS) as received_at "
      "from generate_series(0, EVENTS - 1) n");
  run("insert into inbox.event (shard_id, \"offset\", event_id, source_id, event_type, key, payload, occurred_at, "
      "kafka_timestamp, received_at) select shard_id, \"offset\", event_id, case when n % 10 = 0 then 'ORDER-' || n "
      "end, "
      "case when n % 100000 = 7 then 'order.rare' else 'order.placed' end, convert_to(n::text, 'UTF8'), "
      "convert_to(repeat('x', 100), 'UTF8'), received_at, received_at, received_at from inbox.bench_event");
  run("insert into inbox.ledger (event_id, shard_id, \"offset\", digest, received_on) "
      "select event_id, shard_id, \"offset\", n, received_at::date from inbox.bench_event");
  run("insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, finished_at) "
      "select 1, shard_id, int8multirange(int8range(min(\"offset\"), max(\"offset\") + 1)), 'done', 1, "
      "max(received_at) "
      "from inbox.bench_event where n < EVENTS * 9 / 10 group by shard_id, \"offset\" / 500");
  run("insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to) "
      "select 1, shard_id, int8multirange(int8range(min(\"offset\"), max(\"offset\") + 1)), count(*), "
      "max(received_at), "
      "min(received_at), max(received_at) from inbox.bench_event where n >= EVENTS * 9 / 10 "
      "group by shard_id, \"offset\" / 50");
  run("insert into inbox.failure (event_id, handler_id, attempt, occurred_at, error_class, message, duration) "
      "select event_id, 1, 1, received_at, 'timeout', 'too slow', interval '1 s' from inbox.bench_event where n % 1000 "
      "= 3");
  run("insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, attempts, "
      "reasons) "
      "select 1, event_id, shard_id, \"offset\", 'order.placed', received_at, 3, '[{\"error_class\": \"timeout\"}]' "
      "from inbox.bench_event where n % 10000 = 3");
  run("insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
      "select shard_id, 0, x, x + 1000, 1 from inbox.shard, generate_series(0, EVENTS / PARTITIONS - 1, 1000) x");
  session.run("drop view inbox.bench_event");
  for (const char* const table : {"event", "ledger", "outcome", "delivery", "failure", "dead_letter", "position"}) {
    session.run(std::string{"vacuum analyze inbox."} + table);
  }
  session.run("checkpoint");
}

files::path write_configuration(const Options& options, const std::string& database_url) {
  std::string pattern = (files::temp_directory_path() / "inboxd-bench.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"no temporary folder can be made"};
  std::ofstream{pattern + "/inboxd.yaml"} << "database: {url: \"" << database_url << "\"}\n"
                                          << "kafka: {brokers: \"" << options.kafka << "\", group: bench}\n"
                                          << "topics: [{name: " << stored_topic << "}]\nadmin: {listen: off}\n"
                                          << "handlers: [{name: noop_1, plugin: log, subscribe: {}}]\n";
  return pattern;
}

double milliseconds_of(const support::Command& command) {
  const auto began = std::chrono::steady_clock::now();
  const auto finished = support::run_to_end(command);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  if (finished.status != support::ExitStatus{0, 0}) throw std::runtime_error{finished.err};
  return took.count();
}

}  // namespace

void measure_operations(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  const Room room{options, database.url(), stored_topic, 1};
  Session session{database.url()};
  fill(options, session);
  const auto time = [&](const std::string& days_ago) {
    return session.text("select to_char((now() - interval '1 day' * " + days_ago +
                        ") at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')");
  };
  const std::string middle = std::to_string(options.events / 2 / 10 * 10);
  const std::string id = session.text("select '00000000-0000-7000-8000-' || lpad(to_hex(" + middle + "), 12, '0')");
  const std::string place = std::string{stored_topic} + "/1/" + std::to_string(options.events / 2 / options.partitions);
  const std::vector<std::vector<std::string>> commands{
      {"version"},  // what a process costs
      {"status"},
      {"handlers", "list"},
      {"shards", "list"},
      {"events", "list"},
      {"events", "list", "--limit", "1000"},
      {"events", "list", "--type", "order.r*"},
      {"events", "list", "--since", time("5.501"), "--until", time("5.5")},
      {"events", "show", id},
      {"events", "show", place},
      {"events", "trace", id},
      {"dead", "list"},
  };
  const auto folder = write_configuration(options, database.url());
  for (const auto& command : commands) {
    support::Command line{{INBOXD_PROGRAM, "--config", (folder / "inboxd.yaml").string()}};
    line.arguments.insert(line.arguments.end(), command.begin(), command.end());
    std::vector<double> took;
    for (int i = 0; i < (options.smoke ? times_each_in_smoke : times_each); ++i) took.push_back(milliseconds_of(line));
    std::string name;
    for (const auto& word : command) name += (name.empty() ? "" : " ") + word;
    const double worst = *std::max_element(took.begin(), took.end());
    report.goal(name + " (" + std::to_string(options.events) + " events, " + std::to_string(days) + " days)",
                fixed(median(took), 0) + " ms, at most " + fixed(worst, 0), "< 100 ms",
                median(took) < goal_milliseconds);
  }
  files::remove_all(folder);
}

}  // namespace inboxd::bench
