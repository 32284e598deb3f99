// The database is stopped, set back, hung, behind a pooler.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>
#include <set>

#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/http.hpp"
#include "support/pgbouncer.hpp"
#include "support/private_postgres.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE(
    "PostgreSQL is stopped for a minute, ten times max.poll.interval: the group stays stable, memory bounded, it "
    "catches up") {
  const milliseconds away{60'000};
  PrivatePostgres server;
  Stage stage{4, server.url()};
  stage.config.kafka["session.timeout.ms"] = "6000";
  stage.config.kafka["max.poll.interval.ms"] = "6000";
  stage.config.sections["database"] = "deadline: 5s";
  const auto one = stage.start();
  const auto two = stage.start();
  Load load{stage, 2000};
  wait_until("both are members", [&] { return stage.kafka.members(stage.config.group).size() == 2; });
  load.wait_for_more(2000);
  const auto members = stage.kafka.members(stage.config.group);
  const int assigned =
      one->count_in_log("consumer: partitions assigned") + two->count_in_log("consumer: partitions assigned");

  server.stop();
  std::size_t most_memory = 0;
  holds_for("the same members", away, [&] {
    most_memory = std::max({most_memory, resident_bytes(one->process().id()), resident_bytes(two->process().id())});
    return stage.kafka.members(stage.config.group) == members && one->process().is_running() &&
           two->process().is_running();
  });
  server.start();
  const auto back = monotonic_ms();
  load.finish();
  const auto tally = stage.wait_done();
  WARN("PostgreSQL away for " << away.count() / 1000 << " s: caught up " << monotonic_ms() - back
                              << " ms after it was back, most memory " << most_memory / (1 << 20)
                              << " MiB: " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.kafka.members(stage.config.group) == members);
  CHECK(one->count_in_log("consumer: partitions assigned") + two->count_in_log("consumer: partitions assigned") ==
        assigned);
  CHECK(most_memory < (200u << 20));
}

TEST_CASE("PostgreSQL is away and the queues are full: the lag goes on growing, also that of a partition without any") {
  PrivatePostgres server;
  Stage stage{2, server.url()};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  stage.config.sections["ingest"] = "connections: 1, queued_bytes: 1MiB, batch_events: 100";
  stage.config.sections["database"] = "deadline: 2s";
  const auto daemon = stage.start();
  const auto produce_to = [&](int partition, int count) {
    static int number = 0;
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back("1b000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(stage.topic, ids.back(), '"' + std::string(2'000, 'x') + '"'));
      messages.back().partition = partition;
    }
    stage.kafka.produce(messages);
    stage.note(ids);
  };
  const auto wait_lag = [&](int partition, double lag) {
    const std::string metric =
        "inboxd_partition_lag{topic=\"" + stage.topic + "\",partition=\"" + std::to_string(partition) + "\"}";
    wait_until("partition " + std::to_string(partition) + " lags by " + std::to_string(lag),
               [&] { return gauge(port, metric) == lag; });
  };
  produce_to(0, 10);
  produce_to(1, 10);
  CHECK(stage.wait_done().is_perfect());
  wait_lag(0, 0);
  wait_lag(1, 0);

  server.stop();
  produce_to(0, 3'000);
  wait_lag(0, 3'000);  // more than the queue holds
  produce_to(0, 100);
  produce_to(1, 100);
  wait_lag(0, 3'100);
  wait_lag(1, 100);
  server.start();
  stage.database.session().close();  // the server was stopped
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("PostgreSQL is away under load: what is fetched meanwhile keeps to ingest.queued_bytes") {
  constexpr int records = 48'000;
  constexpr std::size_t record_bytes = 2'000, mebibyte = 1 << 20;
  PrivatePostgres server;
  Stage stage{2, server.url()};
  stage.config.sections["ingest"] = "connections: 1, queued_bytes: 4MiB";
  stage.config.sections["database"] = "deadline: 2s";
  stage.config.kafka["fetch.max.bytes"] = std::to_string(mebibyte);  // one answer may come on top
  const auto daemon = stage.start();
  stage.produce(100);
  CHECK(stage.wait_done().is_perfect());
  const std::size_t before = resident_bytes(daemon->process().id());

  server.stop();
  std::vector<std::string> ids;
  for (int load = 0; load < 8; ++load) {
    std::vector<Message> messages;
    for (int i = 0; i < records / 8; ++i) {
      ids.push_back("1c000000-0000-4000-8000-" + std::to_string(100'000'000'000 + static_cast<int>(ids.size())));
      messages.push_back(event_message(stage.topic, ids.back(), '"' + std::string(record_bytes, 'x') + '"'));
    }
    stage.kafka.produce(messages);
  }
  stage.note(ids);
  std::size_t most = before;
  holds_for("memory has its limit", milliseconds{5'000}, [&] {
    most = std::max(most, resident_bytes(daemon->process().id()));
    return most < before + 24 * mebibyte;
  });
  WARN("of " << records * record_bytes / mebibyte << " MiB that came, in memory at most "
             << (most - before) / mebibyte);
  CHECK(most > before + 2 * mebibyte);  // it went on fetching as far as it may
  server.start();
  stage.database.session().close();
  CHECK(stage.wait_done("recorder", milliseconds{90'000}).is_perfect());
}

TEST_CASE("the database is set back under load with work in hand: replayed, and no stale settle touches a new run") {
  PrivatePostgres server;
  Stage stage{4, server.url()};
  const TempFolder folder;
  const auto gate = folder / "gate";
  stage.config.sections["handler_defaults"] = "lease: 5s, concurrency: 4, events_per_call: 10";
  stage.set("gate", gate);
  write_file(gate, "open");
  const auto daemon = stage.start();
  Load load{stage, 1000};
  load.wait_for_more(1000);
  server.snapshot();
  load.wait_for_more(2000);
  wait_until("work is done that will be undone", [&] { return stage.recording.count() > 1500; });
  std::filesystem::remove(gate);
  const auto called_before = stage.recording.count();
  wait_until("calls are held", [&] { return stage.recording.count() > called_before; });
  server.restore();
  const auto restored_at = monotonic_ms();
  stage.database.session().close();
  const auto moment = stage.database.text("select clock_timestamp()");
  load.wait_for_more(500);
  load.finish();
  stage.wait_stored(load.produced());  // their numbers are given to new runs
  const auto in_doubt = [&] { return daemon->count_in_log("settler: the database failed, trying again"); };
  const int in_doubt_before = in_doubt();
  write_file(gate, "open");
  const auto tally = stage.wait_done();
  CHECK(daemon->process().is_running());
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const std::string log = daemon->log();
  const auto figure = log.rfind("leases_lost=");
  const int lost = figure == std::string::npos ? 0 : std::stoi(log.substr(figure + 12));
  WARN("set back after " << called_before << " calls; leases lost: " << lost << ", in doubt "
                         << in_doubt() - in_doubt_before << " times: " << tally.text());
  // What the held calls said was sent: over a session of the database as it was, or to the one that was set back.
  CHECK((lost > 0 || in_doubt() > in_doubt_before));
  CHECK(tally.is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.failure") == 0);

  std::set<std::string> called_after;
  for (const auto& call : stage.recording.all()) {
    if (call.monotonic_ms >= restored_at) called_after.insert(call.event_id);
  }
  const auto again =
      stage.database.rows("select event_id from inbox.event where received_at > $1::timestamptz", {moment});
  CHECK(again.size() > 1500);
  int not_called = 0;  // settled by a call from before
  for (const auto& row : again) not_called += called_after.contains(*row[0]) ? 0 : 1;
  CHECK(not_called == 0);
}

TEST_CASE("a handler that was added after what the database is set back to loses nothing, and no other gets its work") {
  PrivatePostgres server;
  Stage stage{2, server.url()};
  auto wider = stage.config;
  wider.handlers.push_back(wider.handlers.at(0));
  wider.handlers.back().name = "late";
  wider.handlers.back().start = "now";
  {
    const auto before = stage.start();
    stage.produce(50);
    CHECK(stage.wait_done().is_perfect());
    CHECK(before->stop() == ExitStatus{0, 0});
  }
  server.snapshot();
  stage.database.session().close();  // the server was stopped for it
  Daemon daemon{wider};
  daemon.wait_ready();
  stage.produce(60);
  wait_until("both have done it", [&] { return stage.tally().done == 110 && stage.tally("late").done == 60; });

  server.restore();
  stage.database.session().close();
  auto other = stage.config;  // somebody else's deploy, with a handler that this one does not know
  other.handlers.at(0).name = "other";
  other.handlers.at(0).start = "now";
  Daemon elsewhere{other};
  elsewhere.wait_ready();
  stage.produce(70);
  daemon.wait_log("the database had forgotten a handler");
  wait_until("what was undone is done again", [&] {
    return stage.tally().done == 180 && stage.tally("late").done == 130 && stage.tally("late").outstanding == 0 &&
           stage.tally("other").outstanding == 0;
  });
  for (const auto& call : stage.recording.all()) {
    if (call.handler == "other") CHECK(call.process_id == elsewhere.process().id());
    if (call.handler == "late") CHECK(call.process_id == daemon.process().id());
  }
  CHECK(stage.tally("other").done_twice == 0);
  CHECK(daemon.process().is_running());
}

TEST_CASE("topics that a handler was given after what the database is set back to: what came on them is owed again") {
  PrivatePostgres server;
  Stage stage{2, server.url()};
  stage.config.handlers.at(0).topics = {stage.topic + ".old"};
  const auto changed = stage.start();
  const auto older = stage.start();  // it is not told of the change
  wait_until("both are members", [&] { return stage.kafka.members(stage.config.group).size() == 2; });
  stage.database.session().close();  // the server is stopped for it
  server.snapshot();
  stage.config.handlers.at(0).topics.push_back(stage.topic);
  changed->write_config(stage.config.text());
  changed->process().signal(SIGHUP);
  changed->wait_log("daemon: reloaded");
  stage.produce(200);
  CHECK(stage.wait_done().is_perfect());

  server.restore();
  stage.database.session().close();
  stage.produce(50);
  const auto tally = stage.wait_done();
  WARN(tally.text());
  CHECK(tally.is_perfect());
  changed->wait_log("the database had forgotten a change of a handler");
  CHECK(older->count_in_log("nobody has put back what the database has forgotten") == 0);
}

TEST_CASE("an operator reads in the log that the database was set back") {
  PrivatePostgres server;
  Stage stage{1, server.url()};
  auto daemon = stage.start();
  stage.produce(100);
  stage.wait_done();
  server.snapshot();
  stage.database.session().close();  // the server was stopped for it
  stage.produce(200);
  stage.wait_done();
  wait_until("the offset is committed", [&] {
    return stage.kafka.committed(stage.config.group, stage.topic) == std::map<int, std::int64_t>{{0, 300}};
  });
  server.restore();
  stage.database.session().close();
  SECTION("while it runs") { stage.produce(10); }
  SECTION("after a restart") {
    daemon->stop();
    daemon = stage.start();
  }
  daemon->wait_log("the database is behind the group's offset");
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
}

TEST_CASE("the group's offset goes back with a database that is set back, before anything is stored again") {
  PrivatePostgres server;
  Stage stage{1, server.url()};
  const auto daemon = stage.start();
  const auto group_at = [&](std::int64_t offset) {
    return [&stage, offset] {
      return stage.kafka.committed(stage.config.group, stage.topic) == std::map<int, std::int64_t>{{0, offset}};
    };
  };
  stage.produce(100);
  stage.wait_done();
  stage.database.run(
      "create function inbox.not_now() returns trigger language plpgsql as $$ begin "
      "raise exception 'not now' using errcode = '55P03'; end $$; "
      "create trigger not_now before insert on inbox.event for each statement execute function inbox.not_now()");
  server.snapshot();
  stage.database.session().close();  // the server was stopped for it
  stage.database.run("drop trigger not_now on inbox.event");
  stage.produce(200);
  stage.wait_done();
  wait_until("the offset is committed", group_at(300));
  server.restore();
  stage.database.session().close();
  wait_until("the offset is where the database is", group_at(100));
  stage.database.run("drop trigger not_now on inbox.event");
  CHECK(stage.wait_done().is_perfect());
  wait_until("the offset follows", group_at(300));
  CHECK(daemon->count_in_log("the database is behind the group's offset") == 1);
}

TEST_CASE("a database that is set back while nothing is produced gets every event back by itself") {
  PrivatePostgres server;
  Stage stage{4, server.url()};
  stage.config.sections["ingest"] = "connections: 2";
  const auto daemon = stage.start();
  stage.produce(40);
  stage.wait_done();
  server.snapshot();
  stage.database.session().close();  // the server was stopped for it
  stage.produce(100);
  stage.wait_done();
  server.restore();
  stage.database.session().close();
  const auto tally = stage.wait_done();
  WARN(tally.text());
  CHECK(tally.is_perfect());
  CHECK(daemon->count_in_log("the database has lost what it had stored") == 4);
  holds_for("and that was all", milliseconds{1000}, [&] {
    return daemon->count_in_log("the database has lost what it had stored") == 4 &&
           daemon->count_in_log("somebody else has moved the position") == 0;
  });
}

TEST_CASE("start: end on a database that is set back to before the first start passes over nothing that came since") {
  PrivatePostgres server;
  Stage stage{2, server.url()};
  stage.config.topics = {"{name: " + stage.topic + ", start: end}"};
  stage.migrate();
  stage.database.run("select inbox.make_partitions(2)");
  stage.database.session().close();
  server.snapshot();
  stage.kafka.produce({event_message(stage.topic, "6e000000-0000-4000-8000-000000000001"),
                       event_message(stage.topic, "6e000000-0000-4000-8000-000000000002")});
  auto daemon = stage.start();
  stage.database.wait_for("it has begun", "select count(position) from inbox.lag", 2);
  stage.kafka.produce({event_message(stage.topic, "6e000000-0000-4000-8000-000000000003"),
                       event_message(stage.topic, "6e000000-0000-4000-8000-000000000004")});
  stage.wait_stored(2);
  const std::string running = GENERATE("while it runs", "after a restart", "after a restart of which records came");
  INFO(running);
  wait_until("the offsets are committed",
             [&] { return stage.kafka.committed(stage.config.group, stage.topic) == stage.kafka.ends(stage.topic); });
  CHECK(daemon->count_in_log("the group has read this partition into another database") == 0);
  if (running != "while it runs") CHECK(daemon->stop() == ExitStatus{0, 0});
  if (running == "after a restart of which records came") stage.produce(30);
  server.restore();
  stage.database.session().close();
  if (running != "while it runs") daemon = stage.start();
  if (running == "while it runs") daemon->wait_log("the database has lost what it had stored", 2);
  daemon->wait_log("the group has read this partition into another database", 1);
  stage.produce(20);
  const auto tally = stage.wait_done();
  WARN(running << ": " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.event") == static_cast<std::int64_t>(stage.ids().size()));
}

TEST_CASE("a server that speaks German makes no difference") {
  Stage stage;
  const auto german = in_german(stage.config.url);
  if (!german) SKIP("this server has no German messages");
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(*german, proxy.port());
  const auto daemon = stage.start();
  Load load{stage, 1000};
  for (int i = 0; i < 4; ++i) {
    load.wait_for_more(300);
    proxy.cut();
  }
  // Sessions that the server ends speak to the daemon in German.
  stage.database.run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'inboxd%' and "
      "query like '%' || $1 || '%'",
      {stage.database.schema()});
  load.wait_for_more(300);
  load.finish();
  const auto tally = stage.wait_done();
  WARN(tally.text());
  CHECK(tally.is_perfect());
}

TEST_CASE("through PgBouncer in transaction mode without prepared statements everything works") {
  Stage stage;
  const PgBouncer pooler{stage.config.url};
  stage.config.url = pooler.url();
  stage.config.sections["database"] = "prepare: false";
  auto one = stage.start();
  const auto two = stage.start();
  Load load{stage, 1500};
  load.wait_for_more(1500);
  one->kill();
  load.wait_for_more(500);
  one = stage.start();
  load.wait_for_more(1500);
  load.finish();
  const auto tally = stage.wait_done();
  WARN(tally.text());
  CHECK(tally.is_perfect());
  CHECK(command(stage.config, {"check"}).status == ExitStatus{0, 0});
}

TEST_CASE("check says when prepared statements have to be turned off") {
  Stage stage{1};
  stage.migrate();
  CHECK(command(stage.config, {"check"}).status == ExitStatus{0, 0});
  const PgBouncer pooler{stage.config.url};
  stage.config.url = pooler.url();
  const auto refused = command(stage.config, {"check"});
  INFO(refused.out << refused.err);
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.out + refused.err, ContainsSubstring("database.prepare: false"));
  stage.config.sections["database"] = "prepare: false";
  const auto fine = command(stage.config, {"check"});
  INFO(fine.out << fine.err);
  CHECK(fine.status == ExitStatus{0, 0});
}

TEST_CASE("a database that is not there yet is waited for, and its absence has an exit status") {
  PrivatePostgres server;
  Stage stage{1, server.url()};
  stage.config.sections["database"] = "deadline: 20s";
  server.stop();
  Daemon daemon{stage.config};
  daemon.wait_log("waiting for the database");
  server.start();
  daemon.wait_ready();
  stage.produce(10);
  CHECK(stage.wait_done().is_perfect());
  CHECK(daemon.stop() == ExitStatus{0, 0});
  server.stop();
  stage.config.sections["database"] = "deadline: 1s";
  Daemon refused{stage.config};
  CHECK(refused.process().wait() == ExitStatus{69, 0});
  server.start();
}

TEST_CASE("a slow network to the database costs time and nothing else") {
  Stage stage;
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  proxy.delay(milliseconds{20});
  const auto daemon = stage.start();
  stage.produce(2000);
  CHECK(stage.wait_done().is_perfect());
  proxy.freeze(true);  // neither answers nor errors: the deadline decides
  stage.produce(100);
  holds_for("nothing passes", milliseconds{1000}, [&] { return stage.tally().done == 2000; });
  proxy.freeze(false);
  CHECK(stage.wait_done().is_perfect());
}
