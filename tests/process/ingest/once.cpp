#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <random>
#include <thread>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "process/support/offset_monitor.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("every record of a topic is stored, handed over and done once") {
  DaemonFixture fixture;
  fixture.produce(3000);
  const auto daemon = fixture.start();
  const auto counts = fixture.wait_done();
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 3000);
  CHECK(fixture.database.number("select count(*) from inbox.deliveries where state = 'done'") == 3000);
  wait_until("the offsets are committed", [&] {
    std::int64_t sum = 0;
    for (const auto& [partition, offset] : fixture.kafka.committed(fixture.config.group, fixture.topic)) sum += offset;
    return sum == 3000;
  });
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("no transaction exceeds batch_bytes by more than a record, however small its first records are") {
  DaemonFixture fixture{1};
  constexpr std::int64_t limit = 64 << 10;
  fixture.config.sections["ingest"] = "batch_bytes: 64KiB";
  std::vector<std::string> ids;
  std::vector<Message> messages;
  for (int i = 0; i < 400; ++i) {
    ids.push_back("2a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
    const bool is_large = i % 100 >= 50;
    messages.push_back(event_message(fixture.topic, ids.back(), std::string(is_large ? 20'000 : 2, 'x')));
  }
  fixture.kafka.produce(messages);
  fixture.note(ids);
  const auto daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  const auto rows = fixture.database.rows(
      "select count(*), max(before) from inbox.position p, lateral ("
      "  select coalesce(sum(octet_length(e.payload)), 0)::bigint as before from inbox.event e"
      "  where e.\"offset\" >= p.first_offset and e.\"offset\" < p.next_offset - 1) x where p.first_offset >= 0");
  WARN(*rows[0][0] << " transactions, the most bytes before the last record of one: " << *rows[0][1]);
  CHECK(std::stoll(*rows[0][1]) < limit);
  CHECK(std::stoll(*rows[0][0]) < 100);  // not a transaction per record
}

TEST_CASE("batch_wait collects records into a single transaction") {
  DaemonFixture fixture{1};
  fixture.config.sections["ingest"] = "batch_wait: 10s";
  const auto daemon = fixture.start();
  const auto began = monotonic_ms();
  for (int i = 0; i < 20; ++i) fixture.produce(1);  // a record per produce request
  const auto took_ms = monotonic_ms() - began;
  CHECK(fixture.wait_done().is_perfect());
  // A single transaction if nothing is slow: the wait began at the partition's end, before the first record.
  const auto transactions = fixture.database.number("select count(*) from inbox.position where first_offset >= 0");
  WARN(transactions << " transactions");
  CHECK(transactions <= 2 + took_ms / 10'000);
}

TEST_CASE("a full batch does not wait for batch_wait to pass") {
  DaemonFixture fixture{1};
  fixture.config.sections["ingest"] = "batch_wait: 10s, batch_events: 100";
  fixture.produce(1000);
  const auto began = monotonic_ms();
  const auto daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(monotonic_ms() - began < 30'000);  // ten waiting batches would take a hundred seconds
}

TEST_CASE("a message that is delivered many times is stored and handled once") {
  DaemonFixture fixture{2};
  const auto daemon = fixture.start();
  std::vector<Message> copies;
  for (int i = 0; i < 50; ++i) {
    auto copy = event_message(fixture.topic, "5f0c0000-0000-4000-8000-000000000001", "the same");
    copy.partition = i % 2;
    copies.push_back(copy);
  }
  fixture.note({"5f0c0000-0000-4000-8000-000000000001"});
  fixture.kafka.produce(copies);
  fixture.database.wait_for("all are read", "select sum(position)::int from inbox.lag", 50);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 1);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

// fault: killed before the database commit
TEST_CASE(
    "killing the daemon at random points loses and doubles nothing, and offsets are never ahead of the database") {
  const int kills = is_long() ? 200 : 10;
  DaemonFixture fixture;
  std::mt19937 random{Catch::getSeed()};
  std::uniform_int_distribution<int> moment{0, 1200};
  BackgroundProducer producer{fixture, 1500};
  {
    fixture.migrate();
    const OffsetMonitor monitor{fixture};
    for (int kill = 0; kill < kills; ++kill) {
      const auto daemon = fixture.start();
      if (kill % 3 != 0) {  // most at work, some while joining the group
        const auto before = fixture.database.number(
            "select coalesce(sum(next_offset - greatest(first_offset, 0)), 0) from "
            "inbox.position where first_offset >= 0");
        wait_until("it stores something", [&] {
          return fixture.database.number(
                     "select coalesce(sum(next_offset - greatest(first_offset, 0)), 0) from "
                     "inbox.position where first_offset >= 0") > before;
        });
      }
      std::this_thread::sleep_for(milliseconds{moment(random)});  // the random moment, not a wait
      daemon->kill();
    }
    producer.finish();
    WARN("offsets compared " << monitor.checks() << " times, ahead of the database " << monitor.ahead() << " times");
    CHECK(monitor.checks() > kills);
    CHECK(monitor.ahead() == 0);
  }
  const auto last = fixture.start();
  const auto counts = fixture.wait_done();
  WARN(kills << " kills at random points: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);
}

// fault: killed between database and Kafka commit
TEST_CASE("killing the daemon between the database's commit and Kafka's loses and doubles nothing") {
  const int kills = is_long() ? 200 : 10;
  DaemonFixture fixture;
  fixture.migrate();
  const std::string direct = fixture.config.url;
  std::int64_t behind_in_all = 0;
  for (int kill = 0; kill < kills; ++kill) {
    Proxy proxy{port_of(direct)};
    fixture.config.url = url_with_port(direct, proxy.port());
    fixture.produce(300);
    proxy.cut_at(Proxy::executes("ingest"), Proxy::Cut::hold, 1, kill % 3);
    const auto daemon = fixture.start();
    wait_until("a batch is committed without an answer", [&] {
      if (proxy.cuts() == 0) fixture.produce(1);
      return proxy.cuts() == 1;
    });
    std::int64_t behind = 0;
    const auto committed = fixture.kafka.committed(fixture.config.group, fixture.topic);
    for (int partition = 0; partition < 4; ++partition) {
      const auto found = committed.find(partition);
      behind += fixture.position(partition) - (found == committed.end() ? 0 : found->second);
    }
    CHECK(behind > 0);  // it was between the two commits
    behind_in_all += behind;
    CHECK(fixture.offsets_ahead() == 0);
    daemon->kill();
  }
  fixture.config.url = direct;
  const auto last = fixture.start();
  const auto counts = fixture.wait_done();
  WARN(kills << " kills between the two commits, the group's offsets behind by " << behind_in_all
             << " records in all: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);
}

// fault: process stopped (SIGSTOP) for minutes
// fault: rebalance in the middle of a batch (eager, cooperative)
TEST_CASE("rebalances between two and three instances under load lose and double nothing") {
  const std::string strategy = GENERATE("range", "cooperative-sticky");
  DaemonFixture fixture{6};
  fixture.config.kafka["partition.assignment.strategy"] = strategy;
  auto one = fixture.start();
  auto two = fixture.start();
  BackgroundProducer producer{fixture, 2000};
  producer.wait_for_more(1000);
  const OffsetMonitor monitor{fixture};
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  const auto settled_with = [&](std::size_t members) {
    wait_until(std::to_string(members) + " members",
               [&] { return fixture.kafka.members(fixture.config.group).size() == members; });
    producer.wait_for_more(1500);
  };
  auto three = fixture.start();
  settled_with(3);
  CHECK(two->stop() == ExitStatus{0, 0});
  settled_with(2);
  two = fixture.start();
  settled_with(3);
  one->kill();
  settled_with(2);
  one = fixture.start();
  settled_with(3);
  three->process().signal(SIGSTOP);  // longer than its session: it returns as a zombie
  settled_with(2);
  three->process().signal(SIGCONT);
  const int checks_before_the_end = monitor.checks();
  settled_with(3);
  producer.finish();

  const auto counts = fixture.wait_done();
  WARN(strategy << ": " << counts.text() << "; handled by " << fixture.recording.processes().size()
                << " processes, offsets "
                << "compared " << monitor.checks() << " times");
  CHECK(counts.is_perfect());
  CHECK(monitor.checks() - checks_before_the_end > 5);  // it checked until the end
  CHECK(monitor.checks() > 50);
  CHECK(monitor.ahead() == 0);
  CHECK(fixture.recording.processes().size() >= 3);
}

// fault: connection lost during COMMIT
TEST_CASE("connections cut before and after COMMIT lose and double nothing") {
  DaemonFixture fixture;
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  const auto daemon = fixture.start();
  const OffsetMonitor monitor{fixture};
  BackgroundProducer producer{fixture, 2000};
  int cuts = 0;
  for (const auto& statement : {"ingest", "settle_done", "ingest", "claim", "settle_done"}) {
    for (const auto when : {Proxy::Cut::after, Proxy::Cut::before}) {
      const int before = proxy.cuts();
      proxy.cut_at(Proxy::executes(statement), when, 2, 1);
      wait_until(std::string{"cut at "} + statement, [&] { return proxy.cuts() == before + 2; });
      cuts += 2;
    }
  }
  proxy.cut();
  producer.finish();
  const auto counts = fixture.wait_done();
  WARN(cuts << " cuts, " << daemon->count_in_log("kind=ingest.commit_in_doubt")
            << " batches in doubt: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(daemon->count_in_log("kind=ingest.commit_in_doubt") >= 8);
  CHECK(monitor.checks() > 0);
  CHECK(monitor.ahead() == 0);
}

TEST_CASE(
    "born-leased events of a batch in doubt are handled once it is found stored, without waiting for their lease") {
  DaemonFixture fixture;
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  fixture.config.sections["handler_defaults"] = "lease: 60s, concurrency: 2, events_per_call: 10";
  const auto daemon = fixture.start();
  fixture.produce(100);
  fixture.wait_done();
  for (int i = 0; i < 5; ++i) {
    proxy.cut_at(Proxy::executes("ingest"), Proxy::Cut::after);
    fixture.produce(10);
    wait_until("the answer is lost", [&] { return proxy.cuts() == i + 1; });
    CHECK(fixture.wait_done("recorder", milliseconds{50'000}).is_perfect());
  }
  WARN(daemon->count_in_log("kind=ingest.in_doubt_leases_released") << " of 5 batches in doubt were given back");
  CHECK(daemon->count_in_log("kind=ingest.in_doubt_leases_released") >= 1);
}

TEST_CASE("start: end with two instances that are killed in turn loses nothing in between") {
  DaemonFixture fixture{3};
  fixture.config.topics = {"{name: " + fixture.topic + ", start: end}"};
  fixture.kafka.produce(std::vector<Message>(30, event_message(fixture.topic, "0d000000-0000-4000-8000-000000000000")));
  for (int partition = 0; partition < 3; ++partition) {
    auto old = event_message(fixture.topic, "0d000000-0000-4000-8000-00000000000" + std::to_string(partition));
    old.partition = partition;
    fixture.kafka.produce({old});  // before the first start: not read
  }
  auto one = fixture.start();
  fixture.database.wait_for("all first positions are written", "select count(*) from inbox.lag", 3);
  one->kill();
  for (int round = 0; round < 4; ++round) {
    fixture.produce(50);  // no instance runs
    auto next = fixture.start();
    fixture.produce(50);
    fixture.wait_stored(static_cast<std::int64_t>(fixture.ids().size()));
    fixture.produce(50);  // it is killed with these in flight
    next->kill();
  }
  const auto last = fixture.start();
  const auto counts = fixture.wait_done();
  WARN("five runs: " << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.event") == counts.produced);
}

TEST_CASE("an id on two topics is a single event, and the handlers of both topics get it once") {
  DaemonFixture fixture{2};
  const auto second = fixture.kafka.create_topic(2);
  fixture.config.topics.push_back("{name: " + second + "}");
  fixture.config.handlers[0].name = "of-first";
  fixture.config.handlers[0].topics = {fixture.topic};
  auto of_second = fixture.config.handlers[0];
  of_second.name = "of-second";
  of_second.topics = {second};
  auto of_both = fixture.config.handlers[0];
  of_both.name = "of-both";
  of_both.topics = {fixture.topic, second};
  fixture.config.handlers.push_back(of_second);
  fixture.config.handlers.push_back(of_both);
  const auto daemon = fixture.start();

  const auto ids = fixture.produce(100);
  std::vector<Message> again;
  for (int copy = 0; copy < 2; ++copy) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      again.push_back(event_message(second, ids[i], "{\"n\": " + std::to_string(i) + "}"));
    }
  }
  fixture.kafka.produce(again);

  for (const std::string handler : {"of-first", "of-second", "of-both"}) {
    const auto counts = fixture.wait_done(handler);
    INFO(handler << ": " << counts.text());
    CHECK(counts.is_perfect());
    CHECK(counts.calls == 100);
  }
  fixture.database.wait_for("all are read", "select sum(position)::int from inbox.lag", 300);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 100);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("a handler that one of two instances adds gets every event from then on, whichever instance stores it") {
  DaemonFixture fixture{4};
  const auto old_instance = fixture.start();
  auto before = fixture.produce(500);
  fixture.wait_done();
  auto added = fixture.config.handlers[0];
  added.name = "added";
  added.start = "now";
  fixture.config.handlers.push_back(added);
  BackgroundProducer during{fixture, 1000};
  const auto new_instance = fixture.start();
  during.wait_for_more(1000);
  const auto from_now_on = fixture.produce(2000);
  during.finish();

  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  wait_until("the added handler has done what came since", [&] {
    return fixture.database.number("select due + leased + retrying from inbox.backlog where handler = 'added'") == 0;
  });
  const auto calls = fixture.recording.calls_by_event("added");
  std::size_t missing = 0;
  for (const auto& id : from_now_on) missing += calls.contains(id) ? 0 : 1;
  std::size_t too_old = 0;
  for (const auto& id : before) too_old += calls.contains(id) ? 1 : 0;
  WARN("the added handler got " << calls.size() << " events, missing " << missing << " of 2000 since it was added; "
                                << fixture.recording.processes().size() << " processes at work");
  CHECK(missing == 0);
  CHECK(too_old == 0);
  CHECK(fixture.recording.processes().size() == 2);
}

// fault: one poison row in 500
// fault: server with messages in another language
TEST_CASE(
    "of 500 records one is poison: 499 are stored and one quarantined in one transaction, and offsets advance once") {
  const bool german = GENERATE(false, true);
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.database.run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin "
      "if new.payload = 'poison'::bytea then raise exception 'not this one' using errcode = '22P02'; end if; "
      "return new; end $$; "
      "create trigger refuse before insert on inbox.event for each row execute function inbox.refuse()");
  fixture.produce(320);
  const std::string culprit = "bad00000-0000-4000-8000-000000000000";
  fixture.kafka.produce({event_message(fixture.topic, culprit, "poison")});
  fixture.produce(179);
  if (german) {
    const auto url = in_german(fixture.config.url);
    if (!url) SKIP("this server has no German messages");
    fixture.config.url = *url;
  }
  const auto daemon = fixture.start();
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.produced == 499);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 499);
  CHECK(fixture.database.text("select reason || ' ' || \"offset\" || ' ' || encode(payload, 'escape') from "
                              "inbox.quarantined") == "poison 320 poison");
  CHECK(fixture.database.text("select detail from inbox.quarantined") == "the database refused it: 22P02 not this one");
  CHECK(fixture.position() == 500);
  // The batch is a single transaction: the raw record, and the position row that moves past it.
  CHECK(fixture.database.number("select count(*) from inbox.quarantine q join inbox.position p on p.xmin = q.xmin and "
                                "p.first_offset <= 320 and p.next_offset > 320") == 1);
  wait_until("the offset is committed", [&] {
    return fixture.kafka.committed(fixture.config.group, fixture.topic) == std::map<int, std::int64_t>{{0, 500}};
  });
}
