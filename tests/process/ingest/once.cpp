// Every message is stored once and done once, whatever happens between Kafka, the daemon and the database.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <random>
#include <thread>

#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("what is in a topic is stored, handed over and done, each once") {
  Stage stage;
  stage.produce(3000);
  const auto daemon = stage.start();
  const auto tally = stage.wait_done();
  WARN(tally.text());
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 3000);
  CHECK(stage.database.number("select count(*) from inbox.deliveries where state = 'done'") == 3000);
  wait_until("the offsets are committed", [&] {
    std::int64_t sum = 0;
    for (const auto& [partition, offset] : stage.kafka.committed(stage.config.group, stage.topic)) sum += offset;
    return sum == 3000;
  });
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("no transaction is larger than batch_bytes and one record, however small its first records are") {
  Stage stage{1};
  constexpr std::int64_t limit = 64 << 10;
  stage.config.sections["ingest"] = "batch_bytes: 64KiB";
  std::vector<std::string> ids;
  std::vector<Message> messages;
  for (int i = 0; i < 400; ++i) {
    ids.push_back("2a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
    const bool is_large = i % 100 >= 50;
    messages.push_back(event_message(stage.topic, ids.back(), std::string(is_large ? 20'000 : 2, 'x')));
  }
  stage.kafka.produce(messages);
  stage.note(ids);
  const auto daemon = stage.start();
  CHECK(stage.wait_done().is_perfect());
  const auto rows = stage.database.rows(
      "select count(*), max(before) from inbox.position p, lateral ("
      "  select coalesce(sum(octet_length(e.payload)), 0)::bigint as before from inbox.event e"
      "  where e.\"offset\" >= p.first_offset and e.\"offset\" < p.next_offset - 1) x where p.first_offset >= 0");
  WARN(*rows[0][0] << " transactions, the most bytes before the last record of one: " << *rows[0][1]);
  CHECK(std::stoll(*rows[0][1]) < limit);
  CHECK(std::stoll(*rows[0][0]) < 100);  // and none of one record each
}

TEST_CASE("batch_wait gathers what comes within it into one transaction") {
  Stage stage{1};
  stage.config.sections["ingest"] = "batch_wait: 10s";
  const auto daemon = stage.start();
  const auto began = monotonic_ms();
  for (int i = 0; i < 20; ++i) stage.produce(1);  // each is in the log before the next
  const auto took_ms = monotonic_ms() - began;
  CHECK(stage.wait_done().is_perfect());
  // One where none is slow: what was waited for began with the partition's end, before the first of them.
  const auto transactions = stage.database.number("select count(*) from inbox.position where first_offset >= 0");
  WARN(transactions << " transactions");
  CHECK(transactions <= 2 + took_ms / 10'000);
}

TEST_CASE("a full batch does not wait for batch_wait to pass") {
  Stage stage{1};
  stage.config.sections["ingest"] = "batch_wait: 10s, batch_events: 100";
  stage.produce(1000);
  const auto began = monotonic_ms();
  const auto daemon = stage.start();
  CHECK(stage.wait_done().is_perfect());
  CHECK(monotonic_ms() - began < 30'000);  // of ten batches that wait it would be a hundred seconds
}

TEST_CASE("a message that is delivered many times is stored and handled once") {
  Stage stage{2};
  const auto daemon = stage.start();
  std::vector<Message> copies;
  for (int i = 0; i < 50; ++i) {
    auto copy = event_message(stage.topic, "5f0c0000-0000-4000-8000-000000000001", "the same");
    copy.partition = i % 2;
    copies.push_back(copy);
  }
  stage.note({"5f0c0000-0000-4000-8000-000000000001"});
  stage.kafka.produce(copies);
  stage.database.wait_for("all are read", "select sum(position)::int from inbox.lag", 50);
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 1);
  CHECK(stage.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("killed at random points: nothing lost, nothing doubled, offsets never ahead of the database") {
  const int kills = is_long() ? 200 : 10;
  Stage stage;
  std::mt19937 random{Catch::getSeed()};
  std::uniform_int_distribution<int> moment{0, 1200};
  Load load{stage, 1500};
  {
    stage.migrate();
    const OffsetsWatch watch{stage};
    for (int kill = 0; kill < kills; ++kill) {
      const auto daemon = stage.start();
      if (kill % 3 != 0) {  // most are killed at work, some while they are still joining the group
        const auto before = stage.database.number(
            "select coalesce(sum(next_offset - greatest(first_offset, 0)), 0) from "
            "inbox.position where first_offset >= 0");
        wait_until("it stores something", [&] {
          return stage.database.number(
                     "select coalesce(sum(next_offset - greatest(first_offset, 0)), 0) from "
                     "inbox.position where first_offset >= 0") > before;
        });
      }
      std::this_thread::sleep_for(milliseconds{moment(random)});  // the random moment itself, no waiting for anything
      daemon->kill();
    }
    load.finish();
    WARN("offsets compared " << watch.looks() << " times, ahead of the database " << watch.ahead() << " times");
    CHECK(watch.looks() > kills);
    CHECK(watch.ahead() == 0);
  }
  const auto last = stage.start();
  const auto tally = stage.wait_done();
  WARN(kills << " kills at random points: " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.offsets_ahead() == 0);
}

TEST_CASE("killed between the database's commit and Kafka's: nothing lost, nothing doubled") {
  const int kills = is_long() ? 200 : 10;
  Stage stage;
  stage.migrate();
  const std::string direct = stage.config.url;
  std::int64_t behind_in_all = 0;
  for (int kill = 0; kill < kills; ++kill) {
    Proxy proxy{port_of(direct)};
    stage.config.url = url_with_port(direct, proxy.port());
    stage.produce(300);
    proxy.cut_at(Proxy::executes("ingest"), Proxy::Cut::hold, 1, kill % 3);
    const auto daemon = stage.start();
    wait_until("a batch is committed and nobody has heard of it", [&] {
      if (proxy.cuts() == 0) stage.produce(1);
      return proxy.cuts() == 1;
    });
    std::int64_t behind = 0;
    const auto committed = stage.kafka.committed(stage.config.group, stage.topic);
    for (int partition = 0; partition < 4; ++partition) {
      const auto found = committed.find(partition);
      behind += stage.position(partition) - (found == committed.end() ? 0 : found->second);
    }
    CHECK(behind > 0);  // it is between the two
    behind_in_all += behind;
    CHECK(stage.offsets_ahead() == 0);
    daemon->kill();
  }
  stage.config.url = direct;
  const auto last = stage.start();
  const auto tally = stage.wait_done();
  WARN(kills << " kills between the two commits, the group's offsets behind by " << behind_in_all
             << " records in all: " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.offsets_ahead() == 0);
}

TEST_CASE("rebalances between two and three instances under load lose and double nothing") {
  const std::string strategy = GENERATE("range", "cooperative-sticky");
  Stage stage{6};
  stage.config.kafka["partition.assignment.strategy"] = strategy;
  auto one = stage.start();
  auto two = stage.start();
  Load load{stage, 2000};
  load.wait_for_more(1000);
  const OffsetsWatch watch{stage};
  wait_until("both are members", [&] { return stage.kafka.members(stage.config.group).size() == 2; });
  const auto settled_with = [&](std::size_t members) {
    wait_until(std::to_string(members) + " members",
               [&] { return stage.kafka.members(stage.config.group).size() == members; });
    load.wait_for_more(1500);
  };
  auto three = stage.start();
  settled_with(3);
  CHECK(two->stop() == ExitStatus{0, 0});
  settled_with(2);
  two = stage.start();
  settled_with(3);
  one->kill();
  settled_with(2);
  one = stage.start();
  settled_with(3);
  three->process().signal(SIGSTOP);  // longer than its session: it comes back as a zombie
  settled_with(2);
  three->process().signal(SIGCONT);
  const int looks_before_the_end = watch.looks();
  settled_with(3);
  load.finish();

  const auto tally = stage.wait_done();
  WARN(strategy << ": " << tally.text() << "; handled by " << stage.recording.processes().size()
                << " processes, offsets "
                << "compared " << watch.looks() << " times");
  CHECK(tally.is_perfect());
  CHECK(watch.looks() - looks_before_the_end > 5);  // it looked to the end
  CHECK(watch.looks() > 50);
  CHECK(watch.ahead() == 0);
  CHECK(stage.recording.processes().size() >= 3);
}

TEST_CASE("connections cut during COMMIT, before and after it: no duplicate, no loss") {
  Stage stage;
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  const auto daemon = stage.start();
  Load load{stage, 2000};
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
  load.finish();
  const auto tally = stage.wait_done();
  WARN(cuts << " cuts, " << daemon->count_in_log("whether the batch was committed is unknown")
            << " batches in doubt: " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(daemon->count_in_log("whether the batch was committed is unknown") >= 8);
}

TEST_CASE("what a batch in doubt was born with is handled when it turns out stored, not when its leases run out") {
  Stage stage;
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  stage.config.sections["handler_defaults"] = "lease: 60s, concurrency: 2, events_per_call: 10";
  const auto daemon = stage.start();
  stage.produce(100);
  stage.wait_done();
  for (int i = 0; i < 5; ++i) {
    proxy.cut_at(Proxy::executes("ingest"), Proxy::Cut::after);
    stage.produce(10);
    wait_until("the answer is lost", [&] { return proxy.cuts() == i + 1; });
    CHECK(stage.wait_done("recorder", milliseconds{15'000}).is_perfect());
  }
  WARN(daemon->count_in_log("what it was born with is given back") << " of 5 batches in doubt were given back");
  CHECK(daemon->count_in_log("what it was born with is given back") >= 1);
}

TEST_CASE("start: end with two instances that die in turn loses nothing between their lives") {
  Stage stage{3};
  stage.config.topics = {"{name: " + stage.topic + ", start: end}"};
  stage.kafka.produce(std::vector<Message>(30, event_message(stage.topic, "0d000000-0000-4000-8000-000000000000")));
  for (int partition = 0; partition < 3; ++partition) {
    auto old = event_message(stage.topic, "0d000000-0000-4000-8000-00000000000" + std::to_string(partition));
    old.partition = partition;
    stage.kafka.produce({old});  // before the beginning: not for us
  }
  auto one = stage.start();
  stage.database.wait_for("all first positions are written", "select count(*) from inbox.lag", 3);
  one->kill();
  for (int life = 0; life < 4; ++life) {
    stage.produce(50);  // nobody is there
    auto next = stage.start();
    stage.produce(50);
    stage.wait_stored(static_cast<std::int64_t>(stage.ids().size()));
    stage.produce(50);  // it is killed with these on their way
    next->kill();
  }
  const auto last = stage.start();
  const auto tally = stage.wait_done();
  WARN("five lives: " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.event") == tally.produced);
}

TEST_CASE("the same id on two topics is one event, and the handlers of both topics see it once") {
  Stage stage{2};
  const auto second = stage.kafka.create_topic(2);
  stage.config.topics.push_back("{name: " + second + "}");
  stage.config.handlers[0].name = "of-first";
  stage.config.handlers[0].topics = {stage.topic};
  auto of_second = stage.config.handlers[0];
  of_second.name = "of-second";
  of_second.topics = {second};
  auto of_both = stage.config.handlers[0];
  of_both.name = "of-both";
  of_both.topics = {stage.topic, second};
  stage.config.handlers.push_back(of_second);
  stage.config.handlers.push_back(of_both);
  const auto daemon = stage.start();

  const auto ids = stage.produce(100);
  std::vector<Message> again;
  for (int copy = 0; copy < 2; ++copy) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      again.push_back(event_message(second, ids[i], "{\"n\": " + std::to_string(i) + "}"));
    }
  }
  stage.kafka.produce(again);

  for (const std::string handler : {"of-first", "of-second", "of-both"}) {
    const auto tally = stage.wait_done(handler);
    INFO(handler << ": " << tally.text());
    CHECK(tally.is_perfect());
    CHECK(tally.calls == 100);
  }
  stage.database.wait_for("all are read", "select sum(position)::int from inbox.lag", 300);
  CHECK(stage.database.number("select count(*) from inbox.event") == 100);
  CHECK(stage.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("a handler that one of two instances adds gets every event from then on, whoever stores it") {
  Stage stage{4};
  const auto old_instance = stage.start();
  auto before = stage.produce(500);
  stage.wait_done();
  auto added = stage.config.handlers[0];
  added.name = "added";
  added.start = "now";
  stage.config.handlers.push_back(added);
  Load during{stage, 1000};
  const auto new_instance = stage.start();
  during.wait_for_more(1000);
  const auto from_now_on = stage.produce(2000);
  during.finish();

  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  wait_until("the added handler has done what came since", [&] {
    return stage.database.number("select due + leased + retrying from inbox.backlog where handler = 'added'") == 0;
  });
  const auto calls = stage.recording.calls_by_event("added");
  std::size_t missing = 0;
  for (const auto& id : from_now_on) missing += calls.contains(id) ? 0 : 1;
  std::size_t too_old = 0;
  for (const auto& id : before) too_old += calls.contains(id) ? 1 : 0;
  WARN("the added handler got " << calls.size() << " events, missing " << missing << " of 2000 since it was added; "
                                << stage.recording.processes().size() << " processes at work");
  CHECK(missing == 0);
  CHECK(too_old == 0);
  CHECK(stage.recording.processes().size() == 2);
}

TEST_CASE("poison: of 500 records 499 are stored and one is in quarantine, in one transaction, offsets advance once") {
  const bool german = GENERATE(false, true);
  Stage stage{1};
  stage.migrate();
  stage.database.run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin "
      "if new.payload = 'poison'::bytea then raise exception 'not this one' using errcode = '22P02'; end if; "
      "return new; end $$; "
      "create trigger refuse before insert on inbox.event for each row execute function inbox.refuse()");
  stage.produce(320);
  const std::string culprit = "bad00000-0000-4000-8000-000000000000";
  stage.kafka.produce({event_message(stage.topic, culprit, "poison")});
  stage.produce(179);
  if (german) {
    const auto url = in_german(stage.config.url);
    if (!url) SKIP("this server has no German messages");
    stage.config.url = *url;
  }
  const auto daemon = stage.start();
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.produced == 499);
  CHECK(stage.database.number("select count(*) from inbox.event") == 499);
  CHECK(stage.database.text("select reason || ' ' || \"offset\" || ' ' || encode(payload, 'escape') from "
                            "inbox.quarantined") == "poison 320 poison");
  CHECK(stage.database.text("select detail from inbox.quarantined") == "the database refused it: 22P02 not this one");
  CHECK(stage.position() == 500);
  // The poisoned batch is one transaction: the raw record beside the position row that moves past it.
  CHECK(stage.database.number("select count(*) from inbox.quarantine q join inbox.position p on p.xmin = q.xmin and "
                              "p.first_offset <= 320 and p.next_offset > 320") == 1);
  wait_until("the offset is committed", [&] {
    return stage.kafka.committed(stage.config.group, stage.topic) == std::map<int, std::int64_t>{{0, 500}};
  });
}
