// `dead replay`: order, bites, and its plan.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <future>
#include <thread>

#include "event/offset_set.hpp"
#include "integration/operations/dead_letters.hpp"
#include "integration/operations/operation_runner.hpp"
#include "operations/dead_queries.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

namespace {

/// The `--until TIME` of a message, for the next command.
std::string until_in(const std::string& message) {
  const std::string option = "repeat the command with --until ";
  const auto at = message.find(option);
  REQUIRE(at != std::string::npos);
  return message.substr(at + option.size());
}

}  // namespace

TEST_CASE("a replayed dead letter is due now, at its first attempt") {
  Inbox inbox;
  const auto handler = add_dead_letters(inbox, 3);
  REQUIRE(dead_letters(inbox) == 3);
  const auto answer = OperationRunner{inbox}.run("dead replay", {{"handler", {"receipt"}}});
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("replayed") == 3);
  CHECK(answer.document.at("restored") == 0);
  CHECK(dead_letters(inbox) == 0);
  CHECK(inbox.database().text("select string_agg(distinct state || attempts, ' ') from inbox.deliveries") == "due0");

  const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
  REQUIRE(events_in(runs) == 3);
  for (const auto& run : runs) {
    CHECK(run.attempts == 0);
    CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(run)}).empty());
  }
  CHECK(inbox.database().text("select string_agg(distinct state, ' ') from inbox.deliveries") == "done");
}

TEST_CASE("a replay keeps the order of the partition, in runs of neighbouring offsets") {
  Inbox inbox;
  const auto handler = add_dead_letters(inbox, 1200);
  CHECK(OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1200);
  CHECK(pending(inbox) == "{[0,500)} {[500,1000)} {[1000,1200)}");
  std::int64_t last = -1;
  for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
    for (const auto* event : run.events) CHECK(std::exchange(last, event->offset) < event->offset);
  }
  CHECK(last == 1199);
}

TEST_CASE("a replay of large events creates runs that one claim can read whole") {
  Inbox inbox;
  add_dead_letters(inbox, 20);
  inbox.database().run("update inbox.dead_letter set payload = convert_to(repeat('x', 1 << 20), 'UTF8')");
  CHECK(OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 20);
  CHECK(pending(inbox) == "{[0,8)} {[8,16)} {[16,20)}");
}

TEST_CASE("a purged event is restored from the dead letter's copy, and its handler gets it") {
  Inbox inbox;
  const auto handler = add_dead_letters(inbox, 2);
  const auto before =
      inbox.database().text("select string_agg(event_id::text, ' ' order by \"offset\") from inbox.event");
  drop_events(inbox);
  const auto answer = OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}});
  CHECK(answer.document.at("replayed") == 2);
  CHECK(answer.document.at("restored") == 2);
  CHECK(inbox.database().text("select string_agg(event_id::text, ' ' order by \"offset\") from inbox.event") == before);
  const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
  REQUIRE(events_in(runs) == 2);
  CHECK(runs[0].events[0]->payload == "{\"order\": 7}");
  CHECK(runs[0].events[0]->event_type == "OrderPlaced");
}

TEST_CASE("an event that two handlers dead-lettered is restored once, together or in turn") {
  for (const bool together : {true, false}) {
    CAPTURE(together);
    Inbox inbox;
    const auto first = inbox.add_handler("first");
    const auto second = inbox.add_handler("second");
    Batch batch{inbox};
    batch.at(inbox.add_shard("orders"), 0).events(1).deliver_to(first).deliver_to(second);
    batch.store(inbox.connection());
    for (const auto handler : {first, second}) {
      const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
      inbox::Settlement settlement;
      settlement.key = run.key;
      settlement.whole = true;
      settlement.dead.push_back({0, run.events[0]->event_id});
      inbox::settle(inbox.connection(), inbox.owner, {settlement});
    }
    REQUIRE(dead_letters(inbox) == 2);
    drop_events(inbox);
    OperationRunner runner{inbox};
    if (together) {
      runner.run("dead replay", {{"all", {"true"}}});
    } else {
      runner.run("dead replay", {{"handler", {"first"}}});
      runner.run("dead replay", {{"handler", {"second"}}});
    }
    CHECK(inbox.database().number("select count(*) from inbox.event") == 1);
    CHECK(events_in(claim_due(inbox.connection(), first, inbox.owner).runs) == 1);
    CHECK(events_in(claim_due(inbox.connection(), second, inbox.owner).runs) == 1);
  }
}

TEST_CASE("two simultaneous replays replay every dead letter once") {
  Inbox inbox;
  const auto handler = add_dead_letters(inbox, 2000);
  drop_events(inbox);
  std::vector<std::int64_t> ids;
  for (const auto& dead_letter : operations::pick_dead(inbox.connection(), {}, false, 10'000))
    ids.push_back(dead_letter.id);
  std::int64_t replayed[2] = {0, 0};
  {
    std::vector<std::jthread> people;
    for (auto& count : replayed) {
      people.emplace_back([&] {
        const auto connection = inbox.connect();
        for (std::size_t at = 0; at < ids.size(); at += 100) {
          const std::vector<std::int64_t> step_size(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                                    ids.begin() + static_cast<std::ptrdiff_t>(at + 100));
          count += operations::replay_dead(*connection, step_size, {"ann", "--all"}).letters;
        }
      });
    }
  }
  CHECK(replayed[0] + replayed[1] == 2000);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 2000);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 2000);
}

TEST_CASE("a replay during another counts events that the other took, and only its own as replayed") {
  Inbox inbox;
  add_dead_letters(inbox, 30);
  OperationRunner runner{inbox};
  const auto other = inbox.connect();
  runner.context.pause = [&](milliseconds) {  // after the first ten
    std::vector<std::int64_t> rest;
    for (const auto& letter : operations::pick_dead(*other, {}, false, 100)) rest.push_back(letter.id);
    if (!rest.empty()) operations::replay_dead(*other, rest, {"bob", "--all"});
    return false;
  };
  const auto answer = runner.run("dead replay", {{"all", {"true"}}, {"rate", {"10"}}});
  CHECK(answer.document.at("matched") == 30);
  CHECK(answer.document.at("replayed") == 10);
  CHECK(answer.document.at("changed_meanwhile") == 20);
}

TEST_CASE("a replay at a rate works in steps of that size, and stops between two on request") {
  Inbox inbox;
  add_dead_letters(inbox, 30);
  OperationRunner runner{inbox};
  std::vector<milliseconds> pauses;
  runner.context.pause = [&](milliseconds most) {
    pauses.push_back(most);
    return pauses.size() == 2;
  };
  std::vector<std::int64_t> progress;
  runner.context.progress = [&](const operations::Progress& step) { progress.push_back(step.done); };
  const auto answer = runner.run("dead replay", {{"all", {"true"}}, {"rate", {"10"}}});
  CHECK(answer.code == ExitCode::try_again);
  CHECK(answer.document.at("replayed") == 20);
  CHECK(answer.document.at("interrupted") == true);
  CHECK(pauses == std::vector<milliseconds>{milliseconds{1000}, milliseconds{1000}});
  CHECK(progress == std::vector<std::int64_t>{10, 20});
  CHECK(dead_letters(inbox) == 10);
}

TEST_CASE("a replay delivers each dead letter of its start once, although events fail again meanwhile") {
  Inbox inbox;
  const auto handler = add_dead_letters(inbox, 1'200);
  OperationRunner runner{inbox};
  std::vector<std::int64_t> progress;
  runner.context.progress = [&](const operations::Progress& step) { progress.push_back(step.done); };
  runner.context.pause = [&](milliseconds) {
    fail_due(inbox, handler);
    return false;
  };
  const auto answer = runner.run("dead replay", {{"all", {"true"}}});
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("replayed") == 1'200);
  CHECK(progress == std::vector<std::int64_t>{500, 1'000, 1'200});
  CHECK(dead_letters(inbox) == 1'200);
  CHECK(inbox.database().text("select string_agg(distinct detail ->> 'events', ' ' order by detail ->> 'events') from "
                              "inbox.audit where operation = 'dead replay'") == "200 500");
}

TEST_CASE("an interrupted replay or discard continues with the command that it names") {
  for (const std::string verb : {"dead replay", "dead discard"}) {
    CAPTURE(verb);
    Inbox inbox;
    const auto handler = add_dead_letters(inbox, 1'200);
    OperationRunner runner{inbox};
    runner.context.pause = [](milliseconds) { return true; };
    const auto first = runner.run(verb, {{"all", {"true"}}});
    CHECK(first.code == ExitCode::try_again);
    CHECK(first.document.at("interrupted") == true);
    CHECK(first.message.starts_with(verb + ": stopped after 500 of 1200; for the rest, repeat the command with"));
    CHECK(dead_letters(inbox) == 700);
    fail_due(inbox, handler);  // after a replay, 500 are dead again
    add_dead_letters(inbox, 3, "audit", "payments");
    const auto later = dead_letters(inbox) - 700;
    runner.context.pause = [](milliseconds) { return false; };
    const auto second = runner.run(verb, {{"all", {"true"}}, {"until", {until_in(first.message)}}});
    CHECK(second.code == ExitCode::done);
    CHECK(second.document.at("matched") == 700);
    CHECK(dead_letters(inbox) == later);
    CHECK(later == (verb == "dead replay" ? 503 : 3));
  }
}

TEST_CASE("a replay that stops in between has kept the order of a key with events of two partitions") {
  Inbox inbox;
  add_dead_letters(inbox, 4);
  auto& database = inbox.database();
  const auto other = std::to_string(inbox.add_shard("payments"));
  database.run("update inbox.handler set mode = 'sequential', order_scope = 'handler'");
  database.run("update inbox.dead_letter set sequence = 0, lane = 7, ordinal = 10 - \"offset\"");
  database.run("update inbox.dead_letter set shard_id = $1 where \"offset\" in (1, 3)", {other});
  OperationRunner runner{inbox};
  int steps = 0;
  runner.context.pause = [&](milliseconds) { return ++steps == 2; };
  CHECK(runner.run("dead replay", {{"all", {"true"}}, {"rate", {"1"}}}).document.at("replayed") == 2);
  CHECK(database.text("select string_agg(ordinal::text, ' ' order by ordinal) from inbox.delivery") == "7 8");
}

TEST_CASE("a dry run changes nothing") {
  Inbox inbox;
  add_dead_letters(inbox, 3);
  OperationRunner runner{inbox};
  for (const std::string verb : {"dead replay", "dead discard"}) {
    const auto answer = runner.run(verb, {{"all", {"true"}}, {"dry-run", {"true"}}});
    CHECK(answer.document.at("matched") == 3);
    CHECK(answer.document.at("handlers").at("receipt") == 3);
  }
  CHECK(dead_letters(inbox) == 3);
  CHECK(inbox.database().number("select count(*) from inbox.audit where operation like 'dead %'") == 0);
}

TEST_CASE("events dead-lettered while the operator confirms are left alone, whatever their number") {
  for (const std::string verb : {"dead replay", "dead discard"}) {
    CAPTURE(verb);
    Inbox inbox;
    auto& database = inbox.database();
    add_dead_letters(inbox, 3);
    OperationRunner runner{inbox};
    const auto plan = runner.run(verb, {{"all", {"true"}}, {"dry-run", {"true"}}});
    CHECK(plan.document.at("matched") == 3);
    add_dead_letters(inbox, 2, "audit", "payments");
    // From a transaction that took its number before and committed only now.
    database.run(
        "insert into inbox.dead_letter (dead_letter_id, handler_id, event_id, shard_id, \"offset\", event_type, "
        "received_at, attempts, reasons) overriding system value "
        "select 0, handler_id, gen_random_uuid(), shard_id, 7, event_type, received_at, 1, '[]' "
        "from inbox.dead_letter limit 1");
    runner.context.agreed = plan.plan;
    const auto answer = runner.run(verb, {{"all", {"true"}}});
    CHECK(answer.code == ExitCode::done);
    CHECK(answer.document.at("matched") == 3);
    CHECK(database.text("select array_agg(dead_letter_id order by dead_letter_id) from inbox.dead_letter") ==
          "{0,4,5}");
    CHECK(runner.run(verb, {{"all", {"true"}}}).code == ExitCode::no);  // they are gone
    CHECK(dead_letters(inbox) == 3);
  }
}

TEST_CASE("an operator who confirms the first of many gets the first and is told of the rest") {
  Inbox inbox;
  add_dead_letters(inbox, 5);
  const auto event = inbox.database().text("select event_id from inbox.dead_letter where \"offset\" = 4");
  OperationRunner runner{inbox};
  const auto agree_to = [&](std::map<std::string, std::vector<std::string>> given) {
    given["dry-run"] = {"true"};
    const auto plan = runner.run("dead discard", given);
    given.erase("dry-run");
    runner.context.agreed = plan.plan;
    auto answer = runner.run("dead discard", given);
    runner.context.agreed = nullptr;
    return answer;
  };
  runner.context.max_rows = 2;
  const auto answer = agree_to({{"all", {"true"}}});
  CHECK(answer.document.at("discarded") == 2);
  CHECK(answer.document.at("more") == true);
  CHECK(answer.message.find("limited to the first 2; for the rest, repeat the command with --until 2") !=
        std::string::npos);
  CHECK(agree_to({{"id", {event}}}).document.at("discarded") == 1);
  CHECK(inbox.database().text("select array_agg(\"offset\" order by \"offset\") from inbox.dead_letter") == "{2,3}");
}
