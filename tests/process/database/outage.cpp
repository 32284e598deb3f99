#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>
#include <set>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/pgbouncer.hpp"
#include "support/private_postgres.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

// fault: database down for longer than max.poll.interval
TEST_CASE(
    "with PostgreSQL down for ten times max.poll.interval, the group stays stable and memory bounded; then it "
    "catches up") {
  const milliseconds downtime{60'000};
  PrivatePostgres server;
  DaemonFixture fixture{4, server.url()};
  fixture.config.kafka["session.timeout.ms"] = "6000";
  fixture.config.kafka["max.poll.interval.ms"] = "6000";
  fixture.config.sections["database"] = "deadline: 5s";
  const auto one = fixture.start();
  const auto two = fixture.start();
  BackgroundProducer producer{fixture, 2000};
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  producer.wait_for_more(2000);
  const auto members = fixture.kafka.members(fixture.config.group);
  const int assigned =
      one->count_in_log("kind=consumer.partitions_assigned") + two->count_in_log("kind=consumer.partitions_assigned");

  server.stop();
  std::size_t max_memory = 0;
  holds_for("the same members", downtime, [&] {
    max_memory = std::max({max_memory, resident_bytes(one->process().id()), resident_bytes(two->process().id())});
    return fixture.kafka.members(fixture.config.group) == members && one->process().is_running() &&
           two->process().is_running();
  });
  server.start();
  const auto back = monotonic_ms();
  producer.finish();
  const auto counts = fixture.wait_done();
  WARN("PostgreSQL down for " << downtime.count() / 1000 << " s: caught up " << monotonic_ms() - back
                              << " ms after it was back, most memory " << max_memory / (1 << 20)
                              << " MiB: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.kafka.members(fixture.config.group) == members);
  CHECK(one->count_in_log("kind=consumer.partitions_assigned") +
            two->count_in_log("kind=consumer.partitions_assigned") ==
        assigned);
  CHECK(max_memory < (200u << 20));
}

TEST_CASE("with PostgreSQL down and full queues, the lag keeps growing, even for a partition without queued records") {
  PrivatePostgres server;
  DaemonFixture fixture{2, server.url()};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  fixture.config.sections["ingest"] = "connections: 1, queued_bytes: 1MiB, batch_events: 100";
  fixture.config.sections["database"] = "deadline: 2s";
  const auto daemon = fixture.start();
  const auto produce_to = [&](int partition, int count) {
    static int number = 0;
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back("1b000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(fixture.topic, ids.back(), '"' + std::string(2'000, 'x') + '"'));
      messages.back().partition = partition;
    }
    fixture.kafka.produce(messages);
    fixture.note(ids);
  };
  const auto wait_lag = [&](int partition, double lag) {
    const std::string metric =
        "inboxd_partition_lag{topic=\"" + fixture.topic + "\",partition=\"" + std::to_string(partition) + "\"}";
    wait_until("partition " + std::to_string(partition) + " lags by " + std::to_string(lag),
               [&] { return gauge(port, metric) == lag; });
  };
  produce_to(0, 10);
  produce_to(1, 10);
  CHECK(fixture.wait_done().is_perfect());
  wait_lag(0, 0);
  wait_lag(1, 0);

  server.stop();
  produce_to(0, 3'000);
  wait_lag(0, 3'000);  // more than the queue can hold
  produce_to(0, 100);
  produce_to(1, 100);
  wait_lag(0, 3'100);
  wait_lag(1, 100);
  server.start();
  fixture.database.session().close();  // the server was stopped
  CHECK(fixture.wait_done().is_perfect());
}

// fault: database down for longer than max.poll.interval
TEST_CASE("with PostgreSQL down under load, fetched records stay within ingest.queued_bytes") {
  constexpr int records = 48'000;
  constexpr std::size_t record_bytes = 2'000, mebibyte = 1 << 20;
  PrivatePostgres server;
  DaemonFixture fixture{2, server.url()};
  fixture.config.sections["ingest"] = "connections: 1, queued_bytes: 4MiB";
  fixture.config.sections["database"] = "deadline: 2s";
  fixture.config.kafka["fetch.max.bytes"] = std::to_string(mebibyte);  // a single fetch response may exceed the limit
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  const std::size_t before = resident_bytes(daemon->process().id());

  server.stop();
  std::vector<std::string> ids;
  for (int producer = 0; producer < 8; ++producer) {
    std::vector<Message> messages;
    for (int i = 0; i < records / 8; ++i) {
      ids.push_back("1c000000-0000-4000-8000-" + std::to_string(100'000'000'000 + static_cast<int>(ids.size())));
      messages.push_back(event_message(fixture.topic, ids.back(), '"' + std::string(record_bytes, 'x') + '"'));
    }
    fixture.kafka.produce(messages);
  }
  fixture.note(ids);
  std::size_t most = before;
  holds_for("memory has its limit", milliseconds{5'000}, [&] {
    most = std::max(most, resident_bytes(daemon->process().id()));
    return most < before + 24 * mebibyte;
  });
  WARN("of " << records * record_bytes / mebibyte << " MiB that came, in memory at most "
             << (most - before) / mebibyte);
  CHECK(most > before + 2 * mebibyte);  // it fetched up to the limit
  server.start();
  fixture.database.session().close();
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("after a restore under load, events are replayed, and no stale settle touches a new run") {
  PrivatePostgres server;
  DaemonFixture fixture{4, server.url()};
  const TempFolder folder;
  const auto gate = folder / "gate";
  fixture.config.sections["handler_defaults"] = "lease: 5s, concurrency: 4, events_per_call: 10";
  fixture.set("gate", gate);
  write_file(gate, "open");
  const auto daemon = fixture.start();
  BackgroundProducer producer{fixture, 1000};
  producer.wait_for_more(1000);
  server.snapshot();
  producer.wait_for_more(2000);
  wait_until("work is done that will be undone", [&] { return fixture.recording.count() > 1500; });
  std::filesystem::remove(gate);
  const auto called_before = fixture.recording.count();
  wait_until("calls are held", [&] { return fixture.recording.count() > called_before; });
  const auto moment = fixture.database.text("select clock_timestamp()");
  server.restore();
  const auto restored_at = monotonic_ms();
  fixture.database.session().close();
  producer.wait_for_more(500);
  producer.finish();
  fixture.wait_stored(producer.produced());  // new runs reuse their numbers
  const auto in_doubt = [&] { return daemon->count_in_log("kind=settler.database_failed"); };
  const int in_doubt_before = in_doubt();
  write_file(gate, "open");
  const auto counts = fixture.wait_done();
  CHECK(daemon->process().is_running());
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const std::string log = daemon->log();
  const auto figure = log.rfind("leases_lost=");
  const int lost = figure == std::string::npos ? 0 : std::stoi(log.substr(figure + 12));
  WARN("set back after " << called_before << " calls; leases lost: " << lost << ", in doubt "
                         << in_doubt() - in_doubt_before << " times: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);

  std::set<std::string> called_after;
  for (const auto& call : fixture.recording.all()) {
    if (call.monotonic_ms >= restored_at) called_after.insert(call.event_id);
  }
  const auto again =
      fixture.database.rows("select event_id from inbox.event where received_at > $1::timestamptz", {moment});
  CHECK(again.size() > 1500);
  int not_called = 0;  // settled before the restore
  for (const auto& row : again) not_called += called_after.contains(*row[0]) ? 0 : 1;
  CHECK(not_called == 0);
}

TEST_CASE("a handler that a restore removed loses nothing, and no other handler gets its events") {
  PrivatePostgres server;
  DaemonFixture fixture{2, server.url()};
  auto wider = fixture.config;
  wider.handlers.push_back(wider.handlers.at(0));
  wider.handlers.back().name = "late";
  wider.handlers.back().start = "now";
  {
    const auto before = fixture.start();
    fixture.produce(50);
    CHECK(fixture.wait_done().is_perfect());
    CHECK(before->stop() == ExitStatus{0, 0});
  }
  server.snapshot();
  fixture.database.session().close();
  DaemonProcess daemon{wider};
  daemon.wait_ready();
  fixture.produce(60);
  wait_until("both have done it", [&] { return fixture.counts().done == 110 && fixture.counts("late").done == 60; });

  server.restore();
  fixture.database.session().close();
  auto other = fixture.config;  // another deployment with a handler unknown to this daemon
  other.handlers.at(0).name = "other";
  other.handlers.at(0).start = "now";
  DaemonProcess elsewhere{other};
  elsewhere.wait_ready();
  fixture.produce(70);
  daemon.wait_log("kind=maintenance.handler_restored");
  wait_until("what was undone is done again", [&] {
    return fixture.counts().done == 180 && fixture.counts("late").done == 130 && fixture.counts("late").pending == 0 &&
           fixture.counts("other").pending == 0;
  });
  for (const auto& call : fixture.recording.all()) {
    if (call.handler == "other") CHECK(call.process_id == elsewhere.process().id());
    if (call.handler == "late") CHECK(call.process_id == daemon.process().id());
  }
  CHECK(fixture.counts("other").done_twice == 0);
  CHECK(daemon.process().is_running());
}

TEST_CASE("after a restore removed a handler's new topics, their events are delivered again") {
  PrivatePostgres server;
  DaemonFixture fixture{2, server.url()};
  fixture.config.handlers.at(0).topics = {fixture.topic + ".old"};
  const auto changed = fixture.start();
  const auto older = fixture.start();  // it does not know the change
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  fixture.database.session().close();
  server.snapshot();
  fixture.config.handlers.at(0).topics.push_back(fixture.topic);
  changed->write_config(fixture.config.text());
  changed->process().signal(SIGHUP);
  changed->wait_log("kind=daemon.reloaded");
  fixture.produce(200);
  CHECK(fixture.wait_done().is_perfect());

  server.restore();
  fixture.database.session().close();
  fixture.produce(50);
  const auto counts = fixture.wait_done();
  WARN(counts.text());
  CHECK(counts.is_perfect());
  changed->wait_log("kind=maintenance.change_restored");
  CHECK(older->count_in_log("kind=ingest.handlers_not_restored") == 0);
}

// fault: database restored to an earlier state, or failed over asynchronously
TEST_CASE("the log reports that the database has lost commits, also all of a partition") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  auto daemon = fixture.start();
  const int before = GENERATE(100, 0);
  fixture.produce(before);
  fixture.wait_done();
  fixture.database.wait_for("the first position is written", "select count(position) from inbox.lag", 1);
  server.snapshot();
  fixture.database.session().close();
  fixture.produce(200);
  fixture.wait_done();
  wait_until("the offset is committed", [&] {
    return fixture.kafka.committed(fixture.config.group, fixture.topic) ==
           std::map<int, std::int64_t>{{0, before + 200}};
  });
  server.restore();
  fixture.database.session().close();
  SECTION("while it runs") { fixture.produce(10); }
  SECTION("after a restart") {
    daemon->stop();
    daemon = fixture.start();
  }
  daemon->wait_log("kind=consumer.position_behind_group");
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
}

// fault: database restored to an earlier state, or failed over asynchronously
TEST_CASE("after a restore the group's offset goes back before anything is stored again") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  const auto daemon = fixture.start();
  const auto group_at = [&](std::int64_t offset) {
    return [&fixture, offset] {
      return fixture.kafka.committed(fixture.config.group, fixture.topic) == std::map<int, std::int64_t>{{0, offset}};
    };
  };
  fixture.produce(100);
  fixture.wait_done();
  fixture.database.run(
      "create function inbox.not_now() returns trigger language plpgsql as $$ begin "
      "raise exception 'not now' using errcode = '55P03'; end $$; "
      "create trigger not_now before insert on inbox.event for each statement execute function inbox.not_now()");
  server.snapshot();
  fixture.database.session().close();
  fixture.database.run("drop trigger not_now on inbox.event");
  fixture.produce(200);
  fixture.wait_done();
  wait_until("the offset is committed", group_at(300));
  server.restore();
  fixture.database.session().close();
  wait_until("the offset is where the database is", group_at(100));
  fixture.database.run("drop trigger not_now on inbox.event");
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the offset follows", group_at(300));
  CHECK(daemon->count_in_log("kind=consumer.position_behind_group") == 1);
}

// fault: database restored to an earlier state, or failed over asynchronously
TEST_CASE("a database that is restored while nothing is produced gets every event back") {
  PrivatePostgres server;
  DaemonFixture fixture{4, server.url()};
  fixture.config.sections["ingest"] = "connections: 2";
  const auto daemon = fixture.start();
  fixture.produce(40);
  fixture.wait_done();
  server.snapshot();
  fixture.database.session().close();
  fixture.produce(100);
  fixture.wait_done();
  server.restore();
  fixture.database.session().close();
  const auto counts = fixture.wait_done();
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(daemon->count_in_log("kind=consumer.position_rolled_back") == 4);
  holds_for("and that was all", milliseconds{1000}, [&] {
    return daemon->count_in_log("kind=consumer.position_rolled_back") == 4 &&
           daemon->count_in_log("kind=consumer.position_moved") == 0;
  });
}

TEST_CASE("start: end skips nothing after a restore to before the first start") {
  PrivatePostgres server;
  DaemonFixture fixture{2, server.url()};
  fixture.config.topics = {"{name: " + fixture.topic + ", start: end}"};
  fixture.migrate();
  fixture.database.run("select inbox.make_partitions(2)");
  fixture.database.session().close();
  server.snapshot();
  fixture.kafka.produce({event_message(fixture.topic, "6e000000-0000-4000-8000-000000000001"),
                         event_message(fixture.topic, "6e000000-0000-4000-8000-000000000002")});
  auto daemon = fixture.start();
  fixture.database.wait_for("it has begun", "select count(position) from inbox.lag", 2);
  fixture.kafka.produce({event_message(fixture.topic, "6e000000-0000-4000-8000-000000000003"),
                         event_message(fixture.topic, "6e000000-0000-4000-8000-000000000004")});
  fixture.wait_stored(2);
  const std::string running = GENERATE("while it runs", "after a restart", "after a restart of which records came");
  INFO(running);
  wait_until("the offsets are committed", [&] {
    return fixture.kafka.committed(fixture.config.group, fixture.topic) == fixture.kafka.ends(fixture.topic);
  });
  CHECK(daemon->count_in_log("kind=consumer.group_read_elsewhere") == 0);
  if (running != "while it runs") CHECK(daemon->stop() == ExitStatus{0, 0});
  if (running == "after a restart of which records came") fixture.produce(30);
  server.restore();
  fixture.database.session().close();
  if (running != "while it runs") daemon = fixture.start();
  if (running == "while it runs") daemon->wait_log("kind=consumer.position_rolled_back", 2);
  daemon->wait_log("kind=consumer.group_read_elsewhere", 1);
  fixture.produce(20);
  const auto counts = fixture.wait_done();
  WARN(running << ": " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.event") == static_cast<std::int64_t>(fixture.ids().size()));
}

// fault: server with messages in another language
TEST_CASE("error messages in German make no difference") {
  DaemonFixture fixture;
  const auto german = in_german(fixture.config.url);
  if (!german) SKIP("this server has no German messages");
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(*german, proxy.port());
  const auto daemon = fixture.start();
  BackgroundProducer producer{fixture, 1000};
  for (int i = 0; i < 4; ++i) {
    producer.wait_for_more(300);
    proxy.cut();
  }
  // The messages of terminated sessions are in German.
  fixture.database.run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'inboxd%' and "
      "query like '%' || $1 || '%'",
      {fixture.database.schema()});
  producer.wait_for_more(300);
  producer.finish();
  const auto counts = fixture.wait_done();
  WARN(counts.text());
  CHECK(counts.is_perfect());
}

// fault: PgBouncer in transaction mode
TEST_CASE("everything works through PgBouncer in transaction mode without prepared statements") {
  DaemonFixture fixture;
  const PgBouncer pooler{fixture.config.url};
  fixture.config.url = pooler.url();
  fixture.config.sections["database"] = "prepare: false";
  auto one = fixture.start();
  const auto two = fixture.start();
  BackgroundProducer producer{fixture, 1500};
  producer.wait_for_more(1500);
  one->kill();
  producer.wait_for_more(500);
  one = fixture.start();
  producer.wait_for_more(1500);
  producer.finish();
  const auto counts = fixture.wait_done();
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(command(fixture.config, {"check"}).status == ExitStatus{0, 0});
}

TEST_CASE("check reports that prepared statements have to be turned off") {
  DaemonFixture fixture{1};
  fixture.migrate();
  CHECK(command(fixture.config, {"check"}).status == ExitStatus{0, 0});
  const PgBouncer pooler{fixture.config.url};
  fixture.config.url = pooler.url();
  const auto refused = command(fixture.config, {"check"});
  INFO(refused.out << refused.err);
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.out + refused.err, ContainsSubstring("database.prepare: false"));
  fixture.config.sections["database"] = "prepare: false";
  const auto fine = command(fixture.config, {"check"});
  INFO(fine.out << fine.err);
  CHECK(fine.status == ExitStatus{0, 0});
}

TEST_CASE("a start waits for a missing database; a command exits with a status for it") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  fixture.config.sections["database"] = "deadline: 20s";
  server.stop();
  DaemonProcess daemon{fixture.config};
  daemon.wait_log("kind=daemon.waiting_for_database");
  server.start();
  daemon.wait_ready();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon.stop() == ExitStatus{0, 0});
  server.stop();
  fixture.config.sections["database"] = "deadline: 1s";
  DaemonProcess refused{fixture.config};
  CHECK(refused.process().wait() == ExitStatus{69, 0});
  server.start();
}

TEST_CASE("a slow network to the database costs only time") {
  DaemonFixture fixture;
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  proxy.delay(milliseconds{20});
  const auto daemon = fixture.start();
  fixture.produce(2000);
  CHECK(fixture.wait_done().is_perfect());
  proxy.freeze(true);  // neither answers nor errors: only the deadline ends it
  fixture.produce(100);
  holds_for("nothing passes", milliseconds{1000}, [&] { return fixture.counts().done == 2000; });
  proxy.freeze(false);
  CHECK(fixture.wait_done().is_perfect());
}
