#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "in_process_inbox.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

namespace files = std::filesystem;

constexpr const char* stored_topic = "orders";
constexpr int days = 12;
constexpr int times_each = 9;
constexpr int times_each_in_smoke = 2;
constexpr double goal_milliseconds = 100;
constexpr double search_milliseconds = 1'000;  ///< of a search that finds too few, or shows a thousand

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

void make_days(PostgresSession& session) {
  for (const char* const table : {"event", "outcome", "failure"}) {
    session.run("do $$ declare d date; begin for i in 1.." + std::to_string(days) +
                " loop d := (now() at time zone 'UTC')::date - i; execute format('create table if not exists inbox." +
                table + "_%s partition of inbox." + table +
                " for values from (%L) to (%L)', to_char(d, 'YYYYMMDD'), d::timestamp at time zone 'UTC', "
                "(d + 1)::timestamp at time zone 'UTC'); end loop; end $$");
  }
  session.run(
      "create function inbox.bench_id(n bigint) returns uuid immutable language sql as "
      "$$ select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$");
  session.run(
      "create function inbox.bench_shard(n bigint) returns int stable language sql as "
      "$$ select (array(select shard_id from inbox.shard order by partition))[n::int + 1] $$");
}

/// Fills the inbox with events of twelve days in all partitions. The newest tenth is pending in small runs, a
/// thousandth failed once, a ten-thousandth is dead. Each line runs in its own session, two at a time.
void fill(const Options& options, const std::string& database_url) {
  const std::vector<std::string> statements{
      "insert into inbox.event (shard_id, \"offset\", event_id, source_id, event_type, key, payload, occurred_at, "
      "kafka_timestamp, received_at) select inbox.bench_shard(n % PARTITIONS), n / PARTITIONS, inbox.bench_id(n), "
      "case when n % 10 = 0 then 'ORDER-' || n end, case when n % 2000 = 7 then 'order.rare' else 'order.placed' end, "
      "convert_to(n::text, 'UTF8'), convert_to(repeat('x', 100), 'UTF8'), at, at, at "
      "from generate_series(0, EVENTS - 1) n, lateral (select TIME(n) as at) t",

      "insert into inbox.ledger (event_id, shard_id, generation, \"offset\", digest, received_at) "
      "select inbox.bench_id(n), inbox.bench_shard(n % PARTITIONS), generation, n / PARTITIONS, n, TIME(n) "
      "from inbox.routing, generate_series(0, EVENTS - 1) n",

      "insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, finished_at) "
      "select HANDLER, shard_id, int8multirange(int8range(o, o + 500)), 'done', 1, TIME(o * PARTITIONS) "
      "from inbox.shard, generate_series(0, EVENTS / PARTITIONS * 9 / 10 - 500, 500) o",

      "insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to) "
      "select HANDLER, shard_id, int8multirange(int8range(o, o + 50)), 50, TIME(o * PARTITIONS), TIME(o * PARTITIONS), "
      "now() "
      "from inbox.shard, generate_series(EVENTS / PARTITIONS * 9 / 10, EVENTS / PARTITIONS - 50, 50) o",

      "insert into inbox.failure (event_id, handler_id, attempt, occurred_at, error_class, message, duration) "
      "select inbox.bench_id(n), HANDLER, 1, TIME(n), 'timeout', 'too slow', interval '1 s' "
      "from generate_series(0, EVENTS - 1, 1000) n",

      "insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, attempts, "
      "reasons) select HANDLER, inbox.bench_id(n), inbox.bench_shard(n % PARTITIONS), n / PARTITIONS, 'order.placed', "
      "TIME(n), "
      "3, '[{\"error_class\": \"timeout\"}]' from generate_series(0, EVENTS - 1, 10000) n",

      "insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
      "select shard_id, 0, o, o + 1000, 1 from inbox.shard, generate_series(0, EVENTS / PARTITIONS - 1, 1000) o",
  };
  std::atomic<std::size_t> next{0};
  on_threads(2, [&](int) {
    PostgresSession session{database_url};
    session.run("set synchronous_commit = off");
    for (std::size_t i = next++; i < statements.size(); i = next++) {
      std::string sql = statements[i];
      static const std::regex time{R"(TIME\(([^()]*)\))"};
      sql = std::regex_replace(sql, time, "(now() - interval '1 day' * (DAYS::float8 * (EVENTS - $1) / EVENTS))");
      sql = replaced(std::move(sql), "EVENTS", std::to_string(options.events) + "::bigint");
      sql = replaced(std::move(sql), "PARTITIONS", std::to_string(options.partitions));
      sql = replaced(std::move(sql), "HANDLER", "(select handler_id from inbox.handler)");
      sql = replaced(std::move(sql), "DAYS", std::to_string(days - 1));
      session.run(sql);
    }
  });
  PostgresSession session{database_url};
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

/// Milliseconds from start to exit of a process, without polling.
double milliseconds_of(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const auto began = std::chrono::steady_clock::now();
  const pid_t process = fork();
  if (process == 0) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    execv(pointers.front(), pointers.data());
    _exit(127);
  }
  int status = 0;
  if (process < 0 || waitpid(process, &status, 0) != process || !WIFEXITED(status) || WEXITSTATUS(status) > 1) {
    throw std::runtime_error{"a command failed"};  // 1: "no", as from `status` without a daemon
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

void measure_operations(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  const InProcessInbox local_inbox{options, database.url(), stored_topic, 1};
  PostgresSession session{database.url()};
  make_days(session);
  fill(options, database.url());
  const auto time = [&](const std::string& days_ago) {
    return session.text("select to_char((now() - interval '1 day' * " + days_ago +
                        ") at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')");
  };
  const std::string middle = std::to_string(options.events / 2 / 10 * 10);
  const std::string id = session.text("select '00000000-0000-7000-8000-' || lpad(to_hex(" + middle + "), 12, '0')");
  const std::string place = std::string{stored_topic} + "/1/" + std::to_string(options.events / 2 / options.partitions);
  const std::vector<std::vector<std::string>> commands{
      {"version"},  // the cost of a process
      {"status"},
      {"handlers", "list"},
      {"partitions", "list"},
      {"events", "list"},
      {"events", "list", "--since", time("5.501"), "--until", time("5.5")},
      {"events", "show", id},
      {"events", "show", place},
      {"events", "trace", id},
      {"dead", "list"},
  };
  const std::vector<std::vector<std::string>> searches{
      {"--limit", "1000"},
      {"--type", "order.r*"},
      {"--type", "order.none"},
      {"--type", "order.none", "--until", time("5.5")},
      {"--topic", stored_topic, "--type", "order.none", "--since", time("2"), "--until", time("1")},
      {"--key", "none"},
      {"--key", "none", "--since", time("5.501"), "--until", time("5.5")},
      {"--key", middle},
      {"--handler", "noop_1", "--state", "due"},
      {"--handler", "noop_1", "--state", "retrying"},
      {"--handler", "noop_1", "--state", "dead"},
      {"--handler", "noop_1", "--state", "dead", "--until", time("5.5")},
      {"--handler", "noop_1", "--state", "skipped", "--type", "order.r*", "--until", time("5.5")},
  };
  const auto folder = write_configuration(options, database.url());
  const auto measure = [&](const std::vector<std::string>& command, double most) {
    std::vector<std::string> line{INBOXD_PROGRAM, "--config", (folder / "inboxd.yaml").string()};
    line.insert(line.end(), command.begin(), command.end());
    std::vector<double> took;
    for (int i = 0; i < (options.smoke ? times_each_in_smoke : times_each); ++i) took.push_back(milliseconds_of(line));
    std::string name;
    for (const auto& word : command) name += (name.empty() ? "" : " ") + word;
    const double worst = *std::max_element(took.begin(), took.end());
    report.goal(name + " (" + std::to_string(options.events) + " events, " + std::to_string(days) + " days)",
                fixed(median(took), 0) + " ms, at most " + fixed(worst, 0), "< " + fixed(most, 0) + " ms",
                median(took) < most);
  };
  for (const auto& command : commands) measure(command, goal_milliseconds);
  for (auto search : searches) {
    search.insert(search.begin(), {"events", "list"});
    measure(search, search_milliseconds);
  }
  files::remove_all(folder);
}

}  // namespace inboxd::bench
