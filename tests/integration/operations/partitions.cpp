#include <catch2/catch_test_macros.hpp>
#include <set>

#include "integration/operations/operation_runner.hpp"
#include "operations/partition_queries.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

const Given orders{{"topic", {"orders"}}};
const Given orders_0{{"topic", {"orders"}}, {"partition", {"0"}}};

/// The document that an operator sees before confirming; then confirms.
operations::Document show(OperationRunner& runner, const std::string& verb, Given given) {
  given["dry-run"] = {"true"};
  const auto plan = runner.run(verb, given);
  REQUIRE(plan.code == ExitCode::done);
  runner.context.agreed = plan.plan;
  return plan.document;
}

void halt_recreated(Inbox& inbox, int partition) {
  inbox::halt_recreated(inbox.connection(), inbox.add_shard("orders", partition, 100), "created again", "9oSX==");
}

std::int64_t accepted(Inbox& inbox) {
  return inbox.database().number("select count(*) from inbox.audit where operation like 'partitions accept-%'");
}

}  // namespace

TEST_CASE("an accepted gap lets the partition continue after it, and stays on record") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  inbox.halt(shard, "records 10 to 40 are gone", event::OffsetRange{10, 40});
  OperationRunner runner{inbox};
  const auto plan = show(runner, "partitions accept-gap", orders_0);
  CHECK(plan.at("accepted").at(0).at("lost") == 30);
  CHECK(inbox.position("orders") == 10);

  const auto answer = runner.run("partitions accept-gap", orders_0);
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("accepted").at(0).at("position") == 40);
  const auto position = inbox::find_position(inbox.connection(), "orders", 0);
  CHECK(position->next_offset == 40);
  CHECK(position->epoch == 1);
  CHECK_FALSE(position->halted_reason);
  CHECK(inbox.database().text("select gaps::text || coalesce(gap::text, '') from inbox.shard") == "{[10,40)}");
  CHECK(inbox.database().text("select concat_ws(' ', actor, operation, target, detail ->> 'to') from inbox.audit") ==
        "ann@host partitions accept-gap orders/0 40");
}

TEST_CASE("after an accepted gap, an instance at the old position stores nothing") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  inbox.halt(shard, "gone", event::OffsetRange{10, 40});
  OperationRunner{inbox}.run("partitions accept-gap", orders_0);
  Batch old{inbox};
  CHECK(old.at(shard, 10).events(1).store(inbox.connection()).mismatched == std::vector<std::int32_t>{shard});
  Batch fresh{inbox};
  CHECK(fresh.at(shard, 40, 1).events(1).store(inbox.connection()).stored == 1);
  CHECK(inbox.position("orders") == 41);
}

TEST_CASE("after an accepted truncation the same offsets hold new records, none taken for an old record") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto handler = inbox.add_handler("receipt", {"orders"});
  const auto old_shard = inbox.add_shard("orders");
  Batch before{inbox};
  before.at(old_shard, 0).events(9).reject("no_id").deliver_to(handler);
  before.store(inbox.connection());
  const auto first = inbox::find_position(inbox.connection(), "orders", 0);
  inbox.halt(old_shard, "the log ends at 4", event::OffsetRange{4, 10});
  OperationRunner runner{inbox};
  auto dry = orders_0;
  dry["dry-run"] = {"true"};
  CHECK(runner.run("partitions accept-gap", dry).document.at("accepted").at(0).at("position") == 4);
  CHECK(runner.run("partitions accept-gap", orders_0).document.at("accepted").at(0).at("position") == 4);

  const auto after = inbox::find_position(inbox.connection(), "orders", 0);
  CHECK(after->shard_id != old_shard);
  CHECK(after->next_offset == 4);
  CHECK_FALSE(after->halted_reason);
  CHECK(after->incarnation == first->incarnation);  // the topic is unchanged
  CHECK(after->log_id != first->log_id);            // ids made of positions are not
  Batch late{inbox};                                // of an instance at the old position
  CHECK(late.at(old_shard, 10).events(1).store(inbox.connection()).mismatched == std::vector<std::int32_t>{old_shard});

  Batch again{inbox};
  again.at(after->shard_id, 4).events(5).reject("no_id").deliver_to(handler);
  CHECK(again.store(inbox.connection()).stored == 5);
  CHECK(database.number("select count(*) from inbox.quarantine") == 2);
  const auto late_handler = inbox.add_handler("late", {"orders"}, {}, Inbox::beginning());
  backfill_all(inbox.connection(), 3);
  CHECK(database.number("select due from inbox.backlog where handler = 'late'") == 14);
  for (const auto id : {handler, late_handler}) {
    std::set<std::string> given;
    while (given.size() < 14) {
      const auto claimed = claim_due(inbox.connection(), id, inbox.owner, 4);
      REQUIRE_FALSE(claimed.runs.empty());
      for (const auto& run : claimed.runs) {
        for (const auto* event : run.events) given.insert(event->event_id.text());
        inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
      }
    }
  }
  CHECK(inbox.pending_events() == 0);

  // Truncated once more, then created again.
  inbox.halt(after->shard_id, "the log ends at 7", event::OffsetRange{7, 10});
  CHECK(runner.run("partitions accept-gap", orders_0).code == ExitCode::done);
  const auto third = inbox::find_position(inbox.connection(), "orders", 0);
  CHECK(third->next_offset == 7);
  inbox::halt_recreated(inbox.connection(), third->shard_id, "created again", "9oSX==");
  CHECK(runner.run("partitions accept-recreated", {{"topic", {"orders"}}}).code == ExitCode::done);
  CHECK(inbox::find_position(inbox.connection(), "orders", 0)->log_id == "9oSX==");
}

TEST_CASE("offsets doubled by an old truncation are counted once in a run, and claims of it work") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(5);
  batch.store(inbox.connection());
  inbox.database().run(
      "insert into inbox.event select shard_id, \"offset\", gen_random_uuid(), source_id, event_type, source, subject, "
      "key, payload, headers, occurred_at, kafka_timestamp, received_at from inbox.event");
  const auto handler = inbox.add_handler("late", {}, {}, Inbox::beginning());
  backfill_all(inbox.connection(), 100);
  CHECK(inbox.database().number("select count(*) from inbox.delivery where events <> inbox.count_of(pending)") == 0);
  inbox.database().run("update inbox.delivery set events = events + 3");  // as an earlier version counted it
  CHECK(claim_due(inbox.connection(), handler, inbox.owner, 6).runs.size() == 1);
}

TEST_CASE("a gap that changed since it was shown is not accepted") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders", 0, 10);
  inbox.halt(shard, "records 10 to 40 are gone", event::OffsetRange{10, 40});
  OperationRunner runner{inbox};
  show(runner, "partitions accept-gap", orders_0);
  const auto seen = operations::read_partitions(inbox.connection(), {}).at(0);
  SECTION("it is longer") { database.run("update inbox.shard set gap = '[10,50)'"); }
  SECTION("it begins elsewhere") { database.run("update inbox.shard set gap = '[9,40)'"); }
  SECTION("the partition continues elsewhere after it") {
    database.run(
        "insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
        "select shard_id, 1, 10, 45, 0 from inbox.shard");
  }
  SECTION("it lies in the log after a truncation") {
    database.run(
        "with cut as (insert into inbox.shard (source, topic, partition, incarnation, truncations, ordinal, "
        "halted_reason, halted_at, gap) select source, topic, partition, incarnation, 1, 1, 'cut off', now(), gap "
        "from inbox.shard returning shard_id) "
        "insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
        "select shard_id, 0, -1, 10, 0 from cut");
  }
  const auto before = inbox.position("orders");
  const auto answer = runner.run("partitions accept-gap", orders_0);
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.message == "partitions accept-gap: the partition has changed since it was shown; check it again");
  CHECK_FALSE(operations::accept_gap(inbox.connection(), seen, "ann"));  // nor if it changes after the last read
  CHECK(inbox.position("orders") == before);
  CHECK(accepted(inbox) == 0);
}

TEST_CASE("a position already after the gap stays there") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 50);
  inbox.halt(shard, "gone", event::OffsetRange{10, 40});
  CHECK(OperationRunner{inbox}.run("partitions accept-gap", orders_0).document.at("accepted").at(0).at("position") ==
        50);
  CHECK(inbox.position("orders") == 50);
}

TEST_CASE("without a gap there is nothing to accept, and the answer says why") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  OperationRunner runner{inbox};
  auto answer = runner.run("partitions accept-gap", orders_0);
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.message == "partitions accept-gap: the partition has no gap to accept: it is not halted");
  inbox.halt(shard, "CRC", std::nullopt);
  answer = runner.run("partitions accept-gap", orders_0);
  CHECK(answer.message ==
        "partitions accept-gap: the partition has no gap to accept: it is halted for another reason: CRC");
  answer = runner.run("partitions accept-gap", {{"topic", {"nothing"}}, {"partition", {"0"}}});
  CHECK(answer.code == ExitCode::no);
  CHECK(inbox.database().number("select count(*) from inbox.audit") == 0);
}

TEST_CASE("accepting a gap affects one topic: its name is not a prefix") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  inbox.halt(shard, "records 10 to 40 are gone", event::OffsetRange{10, 40});
  inbox::halt_recreated(inbox.connection(), inbox.add_shard("ordinary"), "created again", "9oSX==");
  OperationRunner runner{inbox};
  for (const auto* const dry_run : {"true", "false"}) {
    CHECK(
        runner.run("partitions accept-gap", {{"topic", {"ord*"}}, {"partition", {"0"}}, {"dry-run", {dry_run}}}).code ==
        ExitCode::no);
    CHECK(runner.run("partitions accept-recreated", {{"topic", {"ord*"}}, {"dry-run", {dry_run}}}).code ==
          ExitCode::no);
  }
}

TEST_CASE("a recreated topic begins at its beginning, in a new shard") {
  Inbox inbox;
  for (const int partition : {0, 1, 2}) {
    const auto shard = inbox.add_shard("orders", partition, 100);
    if (partition == 2) continue;
    inbox::halt_recreated(inbox.connection(), shard, "created again", "9oSX==");
  }
  OperationRunner runner{inbox};
  const auto listed = runner.run("partitions list").document.at("partitions");
  CHECK(listed.at(0).at("new_incarnation") == "9oSX==");
  CHECK(listed.at(2).at("new_incarnation").is_null());
  const auto one = runner.run("partitions accept-recreated", {{"topic", {"orders"}}, {"partition", {"1"}}});
  CHECK(one.document.at("accepted").size() == 1);
  CHECK(inbox.position("orders", 0) == 100);
  CHECK(inbox.position("orders", 1) == 0);
  const auto rest = runner.run("partitions accept-recreated", {{"topic", {"orders"}}});
  CHECK(rest.document.at("accepted").size() == 1);
  const auto position = inbox::find_position(inbox.connection(), "orders", 0);
  CHECK(position->incarnation == "9oSX==");
  CHECK(position->next_offset == 0);
  CHECK_FALSE(position->halted_reason);
  CHECK(inbox.position("orders", 2) == 100);
  CHECK(runner.run("partitions accept-recreated", {{"topic", {"orders"}}}).code == ExitCode::no);

  Batch batch{inbox};
  CHECK(batch.at(position->shard_id, 0).events(1).store(inbox.connection()).stored == 1);
  CHECK(runner.run("partitions list").document.at("partitions").size() == 3);
  CHECK(runner.run("partitions list", {{"all", {"true"}}}).document.at("partitions").size() == 5);
}

TEST_CASE(
    "after a topic's new incarnation is accepted, an instance that reads under the old incarnation stores nothing") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  inbox::halt_recreated(inbox.connection(), shard, "created again", "9oSX==");
  CHECK(OperationRunner{inbox}.run("partitions accept-recreated", {{"topic", {"orders"}}}).code == ExitCode::done);
  Batch old{inbox};
  CHECK(old.at(shard, 10).events(1).store(inbox.connection()).mismatched == std::vector<std::int32_t>{shard});
  CHECK(inbox.database().number("select count(*) from inbox.event") == 0);
}

TEST_CASE("a partition that halts for a new incarnation while the operator confirms stays halted") {
  Inbox inbox;
  for (const int partition : {0, 1}) halt_recreated(inbox, partition);
  OperationRunner runner{inbox};
  CHECK(show(runner, "partitions accept-recreated", orders).at("accepted").size() == 2);
  halt_recreated(inbox, 2);
  CHECK(runner.run("partitions accept-recreated", orders).document.at("accepted").size() == 2);
  CHECK(inbox.position("orders", 0) == 0);
  CHECK(inbox.position("orders", 1) == 0);
  CHECK(inbox.position("orders", 2) == 100);
}

TEST_CASE("no incarnation is accepted if any differs from the shown") {
  Inbox inbox;
  for (const int partition : {0, 1}) halt_recreated(inbox, partition);
  OperationRunner runner{inbox};
  show(runner, "partitions accept-recreated", orders);
  const auto seen = operations::read_partitions(inbox.connection(), {{}, true, true});
  SECTION("an incarnation differs") {
    inbox.database().run("update inbox.shard set new_incarnation = 'again==' where partition = 1");
  }
  SECTION("a partition is not halted any more") {
    inbox.database().run("update inbox.shard set new_incarnation = null where partition = 0");
  }
  const auto answer = runner.run("partitions accept-recreated", orders);
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.message == "partitions accept-recreated: the partition has changed since it was shown; check it again");
  CHECK(operations::accept_recreated(inbox.connection(), seen, "ann").empty());  // nor if it changes after that read
  CHECK(inbox.position("orders", 0) == 100);
  CHECK(inbox.position("orders", 1) == 100);
  CHECK(accepted(inbox) == 0);
}

TEST_CASE("a halted partition's cause does not depend on the text of its reason") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  inbox.halt(shard, "the broker said: new id 9oSX==", std::nullopt);
  CHECK_FALSE(inbox::find_position(inbox.connection(), "orders", 0)->needs_operator());
  OperationRunner runner{inbox};
  CHECK(runner.run("partitions accept-recreated", {{"topic", {"orders"}}}).code == ExitCode::no);

  inbox::halt_recreated(inbox.connection(), shard, "not readable: another id", "9oSX==");
  CHECK(inbox::find_position(inbox.connection(), "orders", 0)->needs_operator());
  CHECK(runner.run("partitions accept-recreated", {{"topic", {"orders"}}}).code == ExitCode::done);
  CHECK(inbox::find_position(inbox.connection(), "orders", 0)->incarnation == "9oSX==");
}

TEST_CASE("a list can be limited to one topic, or to halted partitions") {
  Inbox inbox;
  inbox.add_shard("orders");
  inbox.halt(inbox.add_shard("payments"), "CRC", std::nullopt);
  OperationRunner runner{inbox};
  CHECK(runner.run("partitions list").document.at("partitions").size() == 2);
  CHECK(runner.run("partitions list", {{"topic", {"ord*"}}}).document.at("partitions").at(0).at("topic") == "orders");
  const auto halted = runner.run("partitions list", {{"halted", {"true"}}}).document.at("partitions");
  REQUIRE(halted.size() == 1);
  CHECK(halted.at(0).at("halted_reason") == "CRC");
  CHECK(runner.run("partitions list", {{"topic", {"nothing"}}}).code == ExitCode::no);
}

// fault: topic deleted and created again
TEST_CASE("accepting a topic's former id starts a new incarnation, with other ids made of positions") {
  Inbox inbox;
  const auto first_shard = inbox.add_shard("orders");
  inbox.database().run("update inbox.shard set incarnation = 'own=='");
  Batch first{inbox};
  CHECK(first.at(first_shard, 0).events(3).store(inbox.connection()).stored == 3);
  OperationRunner runner{inbox};
  std::vector<std::string> logs;
  for (const std::string id : {"other==", "own==", "other==", "own=="}) {
    const auto newest = inbox::find_position(inbox.connection(), "orders", 0);
    inbox::halt_recreated(inbox.connection(), newest->shard_id, "created again", id);
    const auto answer = runner.run("partitions accept-recreated", {{"topic", {"orders"}}});
    INFO(answer.message);
    CHECK(answer.code == ExitCode::done);
    const auto position = inbox::find_position(inbox.connection(), "orders", 0);
    CHECK(position->shard_id != newest->shard_id);
    CHECK(position->incarnation == id);
    CHECK(position->next_offset == 0);
    CHECK_FALSE(position->halted_reason);
    logs.push_back(position->log_id);
    Batch batch{inbox};
    CHECK(batch.at(position->shard_id, 0).events(2).store(inbox.connection()).stored == 2);
  }
  CHECK(logs == std::vector<std::string>{"other==", "own==~1", "other==~1", "own==~2"});
  Batch late{inbox};
  CHECK(late.at(first_shard, 3).events(1).store(inbox.connection()).mismatched ==
        std::vector<std::int32_t>{first_shard});
  CHECK(inbox.database().number("select count(*) from inbox.audit where operation = 'partitions accept-recreated' and "
                                "actor = 'ann@host'") == 4);
}

TEST_CASE("a seek by time reads from the first event received since then") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(4).store(inbox.connection());
  inbox.database().run("delete from inbox.event where \"offset\" < 2");
  OperationRunner runner{inbox};
  const std::map<std::string, std::vector<std::string>> given{
      {"topic", {"orders"}}, {"partition", {"0"}}, {"to", {"2024-01-01T00:00:00Z"}}};
  const auto answer = runner.run("partitions seek", given);
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("to") == 2);
  CHECK(answer.document.at("known") == 2);
  CHECK(answer.document.at("new_at_most") == 0);
  CHECK(inbox.position("orders") == 2);
}

TEST_CASE("a seek forward notes the offsets that it passes over as a gap") {
  Inbox inbox;
  inbox.add_shard("orders");
  OperationRunner runner{inbox};
  const auto answer = runner.run("partitions seek", {{"topic", {"orders"}}, {"partition", {"0"}}, {"to", {"7"}}});
  CHECK(answer.document.at("passed_over") == 7);
  CHECK(inbox.position("orders") == 7);
  CHECK(inbox.database().text("select gaps::text from inbox.shard") == "{[0,7)}");
}

TEST_CASE("a seek is refused without a target, for a halted partition, and if it moved since it was shown") {
  Inbox inbox;
  inbox.add_shard("orders");
  OperationRunner runner{inbox};
  const auto to = [&](const std::string& target, bool dry_run = false) {
    std::map<std::string, std::vector<std::string>> given{
        {"topic", {"orders"}}, {"partition", {"0"}}, {"to", {target}}};
    if (dry_run) given["dry-run"] = {"true"};
    return runner.run("partitions seek", given);
  };
  CHECK(to("yesterday").code == ExitCode::usage);
  CHECK(to("0").message == "partitions seek: the position is there already");
  CHECK(to("2024-01-01T00:00:00Z").message == "partitions seek: no event was received since then; pass an offset");
  const auto plan = to("5", true);
  CHECK(inbox.position("orders") == 0);
  to("3");
  runner.context.agreed = plan.plan;
  CHECK(to("5").code == ExitCode::no);
  runner.context.agreed = nullptr;
  inbox.database().run("update inbox.shard set halted_reason = 'a test', halted_at = now()");
  CHECK(to("5").message == "partitions seek: the partition is halted: a test; `partitions list` has the remedy");
  CHECK(inbox.position("orders") == 3);
}
