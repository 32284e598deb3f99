#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "integration/operations/quarantined_records.hpp"
#include "integration/support/roles_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("filters select records by topic, reason, time and number; all records need --all") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(2));
  quarantine_records(inbox, inbox.add_shard("payments"), 0, orders(3), "bad_id");
  OperationRunner runner = runner_for(inbox, {by_order(), by_order("payments")});
  const auto matched = [&](const std::map<std::string, std::vector<std::string>>& filter) {
    auto given = filter;
    given["dry-run"] = {"true"};
    const auto retried = runner.run("quarantine retry", given).document.at("matched");
    CHECK(runner.run("quarantine discard", given).document.at("matched") == retried);
    return retried.get<int>();
  };
  CHECK(matched(all) == 5);
  CHECK(matched({{"topic", {"orders"}}}) == 2);
  CHECK(matched({{"topic", {"pay*"}}, {"reason", {"no_id"}}}) == 0);
  CHECK(matched({{"reason", {"bad_id"}}}) == 3);
  CHECK(matched({{"since", {"2000-01-01T00:00:00Z"}}}) == 5);
  CHECK(matched({{"until", {"2000-01-01T00:00:00Z"}}}) == 0);
  CHECK(matched({{"id", {"1", "5"}}}) == 2);
  CHECK(matched({{"id", {"1"}}, {"topic", {"payments"}}}) == 0);
  for (const std::string verb : {"quarantine retry", "quarantine discard"}) {
    CHECK(runner.run(verb).code == ExitCode::usage);
    CHECK(runner.run(verb, {{"id", {"x"}}}).code == ExitCode::usage);
  }
  CHECK(quarantined(inbox) == 5);
}

TEST_CASE("records quarantined while the operator confirms are left alone") {
  for (const std::string verb : {"quarantine retry", "quarantine discard"}) {
    CAPTURE(verb);
    Inbox inbox;
    const auto shard = inbox.add_shard("orders");
    quarantine_records(inbox, shard, 0, orders(3));
    OperationRunner runner = runner_for(inbox, {by_order()});
    const auto plan = runner.run(verb, {{"all", {"true"}}, {"dry-run", {"true"}}});
    quarantine_records(inbox, shard, 3, {R"({"id": "B-1"})"});
    runner.context.agreed = plan.plan;
    CHECK(runner.run(verb, all).document.at("matched") == 3);
    CHECK(reasons(inbox) == "4 no_id");
  }
}

TEST_CASE("records beyond a command's limit are reported, and left for the next") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(5));
  OperationRunner runner = runner_for(inbox, {by_order()});
  runner.context.max_rows = 2;
  for (const std::string verb : {"quarantine retry", "quarantine discard"}) {
    const auto answer = runner.run(verb, all);
    CHECK(answer.document.at("matched") == 2);
    CHECK(answer.document.at("more") == true);
    CHECK_THAT(answer.message, ContainsSubstring("repeat the command for the rest"));
  }
  CHECK(quarantined(inbox) == 1);
}

TEST_CASE("discarded records are deleted, and the audit names them") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(3));
  quarantine_records(inbox, inbox.add_shard("payments"), 0, {"one"}, "bad_id");
  OperationRunner runner = runner_for(inbox, {});
  CHECK(runner.run("quarantine discard", {{"reason", {"no_id"}}}).document.at("discarded") == 3);
  CHECK(reasons(inbox) == "4 bad_id");
  CHECK(inbox.database().text("select actor || '|' || target || '|' || (detail ->> 'records') || '|' || (detail -> "
                              "'offsets' ->> 'orders/0') from inbox.audit where operation = 'quarantine discard'") ==
        "ann@host|--reason no_id|3|{[0,3)}");
}

TEST_CASE("the list suggests settings for topics whose records have no id") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, {"one", "two"});
  const auto shard = inbox.add_shard("payments");
  quarantine_records(inbox, shard, 0, {"one"});
  quarantine_records(inbox, shard, 1, {"two"}, "bad_id");
  CHECK(OperationRunner{inbox}.run("quarantine list").message ==
        "no listed record of orders has an id: set topics[].on_missing_id or "
        "custom.id (with envelope: custom), restart the daemon, "
        "then `inboxd quarantine retry --topic orders`");
  CHECK(OperationRunner{inbox}.run("quarantine list", {{"topic", {"payments"}}}).message.empty());
}

TEST_CASE("the daemon's roles may retry and discard; a reader may only run a dry run") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  inbox.add_handler("receipt", {"orders"}, {}, Inbox::beginning());
  quarantine_records(inbox, shard, 0, {R"({"id": "A-1"})", R"({"id": "A-1", "amount": 7})", R"({"id": "A-2"})"});
  RolesFixture roles{inbox};
  OperationRunner runner = runner_for(inbox, {by_order()});
  const auto reader = roles.connect({"reader"});
  runner.context.connection = reader.get();
  CHECK(runner.run("quarantine retry", {{"all", {"true"}}, {"dry-run", {"true"}}}).document.at("events") == 2);
  CHECK(failure_of([&] { runner.run("quarantine retry", all); }).sqlstate == "42501");
  CHECK(failure_of([&] { runner.run("quarantine discard", all); }).sqlstate == "42501");
  const auto daemon = roles.connect({"ingest", "worker"});
  runner.context.connection = daemon.get();
  const auto answer = runner.run("quarantine retry", all);
  CHECK(answer.document.at("events") == 2);
  CHECK(answer.document.at("still") == operations::Document{{"conflict", 1}});
  CHECK(runner.run("quarantine discard", all).document.at("discarded") == 1);
}

TEST_CASE("records are counted by topic and reason, with the newest detail, and listed page by page") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(4));
  quarantine_records(inbox, inbox.add_shard("payments"), 0, orders(2), "bad_id");
  inbox.database().run("update inbox.quarantine set detail = 'no header id' where quarantine_id = 4");
  OperationRunner runner{inbox};
  const auto list = runner.run("quarantine list", {{"groups", {"true"}}, {"limit", {"4"}}}).document;
  REQUIRE(list.at("groups").size() == 2);
  CHECK(list.at("groups").at(0).at("topic") == "orders");
  CHECK(list.at("groups").at(0).at("records") == 4);
  CHECK(list.at("groups").at(0).at("detail") == "no header id");
  CHECK(list.at("groups").at(1).at("reason") == "bad_id");
  const auto rest = runner.run("quarantine list", {{"before", {list.at("next").get<std::string>()}}}).document;
  CHECK(rest.at("records").size() == 2);
  CHECK(rest.at("records").at(0).at("quarantine_id") == 2);
  CHECK(rest.at("next").is_null());
  CHECK_FALSE(rest.contains("groups"));
}
