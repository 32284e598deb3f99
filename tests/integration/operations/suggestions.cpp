#include <catch2/catch_test_macros.hpp>

#include "integration/operations/operation_runner.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

namespace {

/// A handler with a former name and a dead letter.
struct DeadLetterFixture {
  DeadLetterFixture() {
    config::Handler greeter = handler_named("greeter");
    greeter.aliases = {"welcomer"};
    const auto id = inbox::register_handlers(inbox.connection(), {greeter}).at(0).handler_id;
    Batch batch{inbox};
    batch.at(inbox.add_shard("orders"), 0).events(1, "{}", "OrderPlaced").deliver_to(id).store(inbox.connection());
    const auto run = claim_due(inbox.connection(), id, inbox.owner).runs.at(0);
    inbox::Settlement settlement;
    settlement.key = run.key;
    settlement.whole = true;
    settlement.failures.push_back({run.events[0]->event_id, 1, "timeout.read", "no answer", milliseconds{12}});
    settlement.dead.push_back({0, run.events[0]->event_id});
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  }

  void finds_nothing(const std::string& verb, const std::string& filter, const std::string& name,
                     const std::string& message, const std::string& nearest) {
    CAPTURE(verb, filter, name);
    const auto answer = OperationRunner{inbox}.run(verb, {{filter, {name}}});
    CHECK(answer.code == ExitCode::no);
    CHECK(answer.message == message);
    CHECK(answer.document.value("did_you_mean", "") == nearest);
  }

  Inbox inbox;
};

}  // namespace

TEST_CASE("a filter without a match suggests the nearest handler, topic, type, error class or reason") {
  DeadLetterFixture test;
  for (const std::string verb : {"dead list", "dead replay", "dead discard"}) {
    test.finds_nothing(verb, "handler", "greter", "no handler \"greter\"; did you mean \"greeter\"?", "greeter");
    test.finds_nothing(verb, "handler", "welcome", "no handler \"welcome\"; did you mean \"welcomer\"?", "welcomer");
    test.finds_nothing(verb, "type", "OrderPlced", "no type \"OrderPlced\"; did you mean \"OrderPlaced\"?",
                       "OrderPlaced");
    test.finds_nothing(verb, "error", "timeout.raed", "no error class \"timeout.raed\"; did you mean \"timeout.read\"?",
                       "timeout.read");
  }
  for (const std::string verb : {"events list", "quarantine list", "partitions list"}) {
    test.finds_nothing(verb, "topic", "order", "no topic \"order\"; did you mean \"orders\"?", "orders");
  }
  test.finds_nothing("events list", "type", "Order", "no type \"Order\"; known: OrderPlaced", "");
  test.finds_nothing("quarantine list", "reason", "noid", "no reason \"noid\"; did you mean \"no_id\"?", "no_id");
}

TEST_CASE("a filter with known names reports only that nothing matches") {
  DeadLetterFixture test;
  test.finds_nothing("dead list", "message", "greter", "no dead letter matches", "");
  test.finds_nothing("quarantine list", "topic", "ord*", "nothing in quarantine matches", "");
  CHECK(OperationRunner{test.inbox}.run("dead list", {{"handler", {"welcomer"}}}).code == ExitCode::done);
}

TEST_CASE("an offset in an unknown topic or partition is told apart from an offset without an event") {
  DeadLetterFixture test;
  OperationRunner runner{test.inbox};
  CHECK(runner.run("events show", {{"id", {"order/0/0"}}}).message ==
        "no event with the id \"order/0/0\": no topic \"order\"; did you mean \"orders\"?");
  CHECK(runner.run("events show", {{"id", {"orders/7/0"}}}).message ==
        "no event with the id \"orders/7/0\": topic orders has no partition 7");
}
