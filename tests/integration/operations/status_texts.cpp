// Who sees texts of events in `status`: keys, and messages that quote them.
#include <catch2/catch_test_macros.hpp>

#include "integration/operations/dead_letters.hpp"
#include "integration/operations/lanes_fixture.hpp"
#include "integration/support/roles_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Every finding that may quote an event quotes this key.
const std::string key = "dave@example.org";

struct TextsFixture {
  TextsFixture() : lanes{inbox, "mailer"} {
    add_dead_letters(inbox, 12, "receipt", "returns", "sql.22P02");
    const auto failing = inbox.add_handler("failing");
    lanes.store("aa");
    lanes.run('a', LanesFixture::End::retried);
    for (int i = 0; i < 3; ++i) Batch{inbox}.at(inbox.add_shard("plain"), i).reject("no_id").store(inbox.connection());
    const auto event = lanes.event_id(0);
    auto& database = inbox.database();
    const std::string quoting = "'invalid input syntax: " + key + "'";
    database.run("update inbox.failure set message = " + quoting);
    database.run("insert into inbox.failure (event_id, handler_id, attempt, error_class, message, duration) values ('" +
                 event + "', " + std::to_string(failing) + ", 1, 'sql.22P02', " + quoting + ", '0')");
    database.run("update inbox.delivery set last_error = " + quoting + ", order_key = '" + key +
                 "' where lane is not null");
    database.run("update inbox.dead_letter set reasons = jsonb_build_array(jsonb_build_object('error_class', "
                 "'sql.22P02', 'message', " + quoting + "))");
    database.run("update inbox.quarantine set detail = " + quoting);
    inbox.add_handler("stopped");
    database.run("update inbox.handler set paused_reason = " + quoting + " where name = 'stopped'");
    inbox::HandlerActivity activity;
    activity.handler_id = failing;
    activity.failed = activity.failed_in_row = 50;
    activity.span = std::chrono::seconds{60};
    activity.last_error_class = "sql.22P02";
    activity.last_failed_event = event;
    inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false, std::nullopt, {failing},
                              {activity});
  }

  operations::Document findings(inbox::Connection& connection, bool shows_content = true) {
    OperationRunner runner{inbox};
    runner.context.connection = &connection;
    runner.context.shows_content = shows_content;
    return runner.run("status").document.at("findings");
  }

  static std::string message(const operations::Document& findings, const std::string& kind) {
    for (const auto& finding : findings) {
      if (finding.at("kind") == kind) return finding.at("message");
    }
    return "no finding " + kind;
  }

  Inbox inbox;
  LanesFixture lanes;
};

constexpr const char* kinds[] = {"handler_fails", "keys_blocked", "dead_letters_grow", "topic_quarantined",
                                 "handler_paused"};

}  // namespace

TEST_CASE("status quotes keys and messages for role reader, and has class and counts for role monitor") {
  TextsFixture fixture;
  RolesFixture roles{fixture.inbox};
  roles.apply();
  {
    const auto reader = roles.connect({"reader"});
    const auto findings = fixture.findings(*reader);
    for (const char* const kind : kinds) {
      CAPTURE(kind);
      CHECK(TextsFixture::message(findings, kind).find(key) != std::string::npos);
    }
  }
  const auto monitor = roles.connect({"monitor"});
  const auto findings = fixture.findings(*monitor);
  CHECK(findings.dump().find(key) == std::string::npos);
  for (const char* const kind : kinds) {
    CAPTURE(kind);
    CHECK(TextsFixture::message(findings, kind).find("no finding") == std::string::npos);
  }
  CHECK(TextsFixture::message(findings, "handler_fails").find("sql.22P02 (inboxd events show ") != std::string::npos);
  CHECK(TextsFixture::message(findings, "dead_letters_grow").find("all sql.22P02") != std::string::npos);
}

TEST_CASE("without a token the admin port's status quotes neither keys nor messages") {
  TextsFixture fixture;
  CHECK(fixture.findings(fixture.inbox.connection()).dump().find(key) != std::string::npos);
  CHECK(fixture.findings(fixture.inbox.connection(), false).dump().find(key) == std::string::npos);
  OperationRunner runner{fixture.inbox};
  runner.context.shows_content = false;
  CHECK(runner.run("status").document.dump().find(key) == std::string::npos);
  CHECK(runner.run("handlers list").document.dump().find(key) == std::string::npos);
}

TEST_CASE("status quotes nothing of a forgotten event") {
  TextsFixture fixture;
  fixture.inbox.database().run("update inbox.event set key = $1", {key});
  fixture.inbox.database().run("update inbox.dead_letter set key = $1", {key});
  fixture.inbox.database().run("update inbox.quarantine set key = $1", {key});
  fixture.inbox.database().run("update inbox.handler set paused_reason = null");
  OperationRunner runner{fixture.inbox};
  REQUIRE(runner.run("events forget", {{"key", {key}}}).code == base::ExitCode::done);
  CHECK(fixture.findings(fixture.inbox.connection()).dump().find(key) == std::string::npos);
}
