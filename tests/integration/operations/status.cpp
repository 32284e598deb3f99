// Status, handlers and quarantine as the database has them; what a role may; what is between us and the server.
#include <catch2/catch_test_macros.hpp>

#include "inbox/operations_check.hpp"
#include "inbox/operations_shards.hpp"
#include "inbox/operations_status.hpp"
#include "integration/operations/ask.hpp"
#include "support/environment.hpp"
#include "support/pgbouncer.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

TEST_CASE("status tells positions, lag, what handlers owe and which daemons live") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch{inbox}.at(shard, 0).events(10).owe(handler).store(inbox.connection());
  Batch{inbox}.at(shard, 10).events(5).owe(handler, milliseconds{30'000}).reject("no_id").store(inbox.connection());
  inbox::record_watermarks(inbox.connection(), {{shard, 100}});
  inbox::instance_seen(inbox.connection(), {inbox.owner, "host-a", 42}, false);

  const auto document = Desk{inbox}.ask("status").document;
  CHECK(document.at("is_well") == true);
  CHECK(document.at("verdict") == "all is running; 1 in quarantine");
  CHECK(document.at("topics").at(0).at("position") == 16);
  CHECK(document.at("topics").at(0).at("lag") == 84);
  CHECK(document.at("handlers").at(0).at("due") == 10);
  CHECK(document.at("handlers").at(0).at("leased") == 5);
  CHECK(document.at("instances").at(0).at("host") == "host-a");
  CHECK(document.at("quarantined") == 1);
  CHECK(document.at("instances").at(0).at("trouble").is_null());

  inbox::instance_seen(inbox.connection(), {inbox.owner, "host-a", 42}, false, "the brokers do not answer");
  CHECK(Desk{inbox}.ask("status").document.at("verdict") == "host-a: the brokers do not answer; 1 in quarantine");
}

TEST_CASE("a daemon that said goodbye is not counted as running") {
  Inbox inbox;
  inbox::instance_seen(inbox.connection(), {inbox.owner, "host-a", 42}, false);
  CHECK(Desk{inbox}.ask("status").document.at("is_well") == true);
  inbox::instance_seen(inbox.connection(), {inbox.owner, "host-a", 42}, true);
  CHECK(Desk{inbox}.ask("status").document.at("verdict") == "no daemon is running");
}

TEST_CASE("status counts no further than it takes to know that it is a lot") {
  Inbox inbox;
  const auto handler = std::to_string(inbox.add_handler("receipt"));
  const auto shard = std::to_string(inbox.add_shard("orders"));
  inbox.database().run(
      "insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, "
      "received_to) select " +
      handler + ", " + shard +
      ", int8multirange(int8range(n, n + 1)), 1, now(), now(), now() from generate_series(1, 15000) n");
  const auto owed = Desk{inbox}.ask("status").document.at("handlers").at(0);
  CHECK(owed.at("due") == 12'000);
  CHECK(owed.at("at_least_due") == true);
}

TEST_CASE("what fails is as old as the day it came, whenever it is due") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch{inbox}.at(inbox.add_shard("orders"), 0).events(10).owe(handler).store(inbox.connection());
  const auto age = [&] { return inbox::read_handlers(inbox.connection()).at(0).oldest_retrying_age; };
  inbox.database().run("update inbox.delivery set received_from = now() - interval '1 day'");
  CHECK_FALSE(age().has_value());
  inbox.database().run("update inbox.delivery set attempts = 1");
  CHECK(age() >= std::chrono::hours{24});
  inbox.database().run("update inbox.delivery set due_at = now() + interval '1 hour'");
  CHECK(age() >= std::chrono::hours{24});
  CHECK_FALSE(inbox::read_handlers(inbox.connection()).at(0).oldest_due_age.has_value());
}

TEST_CASE("handlers are listed with what they subscribe to, retired ones too, but not in status") {
  Inbox inbox;
  Desk desk{inbox};
  CHECK(desk.ask("handlers list").code == ExitCode::no);
  inbox.add_handler("receipt", {"orders", "a \"quoted\", topic"}, {"Order*"});
  inbox.add_handler("old");
  inbox.database().run("update inbox.handler set retired_at = now() where name = 'old'");
  const auto handlers = desk.ask("handlers list").document.at("handlers");
  REQUIRE(handlers.size() == 2);
  CHECK(handlers.at(1).at("topics") == admin::Document({"orders", "a \"quoted\", topic"}));
  CHECK(handlers.at(1).at("types") == admin::Document::array({"Order*"}));
  CHECK(desk.ask("status").document.at("handlers").size() == 1);
}

TEST_CASE("quarantined records are listed by topic and reason, and shown whole by number or place") {
  Inbox inbox;
  Batch{inbox}.at(inbox.add_shard("orders"), 0).reject("no_id").reject("bad_id").store(inbox.connection());
  Desk desk{inbox};
  CHECK(desk.ask("quarantine list").document.at("records").size() == 2);
  CHECK(desk.ask("quarantine list", {{"reason", {"bad_id"}}}).document.at("records").size() == 1);
  CHECK(desk.ask("quarantine list", {{"topic", {"nothing"}}}).code == ExitCode::no);
  const auto shown = desk.ask("quarantine show", {{"id", {"orders/0/1"}}}).document.at("records").at(0);
  CHECK(shown.at("reason") == "bad_id");
  CHECK(shown.at("payload") == "raw");
  const auto id = shown.at("quarantine_id").dump();
  CHECK(desk.ask("quarantine show", {{"id", {id}}}).document.at("records").size() == 1);
  CHECK(desk.ask("quarantine show", {{"id", {"x"}}}).code == ExitCode::usage);
  CHECK(desk.ask("quarantine show", {{"id", {"999999"}}}).code == ExitCode::no);
}

TEST_CASE("a role that may only read can look at everything and change nothing") {
  Inbox inbox;
  auto& database = inbox.database();
  Batch{inbox}.at(inbox.add_shard("orders"), 0).events(1).store(inbox.connection());
  const auto role = random_name("reader");
  database.run("create role " + role + " login; grant usage on schema " + database.schema() + " to " + role +
               "; grant select on all tables in schema " + database.schema() + " to " + role);
  auto settings = inbox.settings();
  settings.url += (settings.url.find('?') == std::string::npos ? "?user=" : "&user=") + role;
  {
    const auto connection = inbox.connect(settings);
    Desk desk{inbox};
    desk.context.connection = connection.get();
    CHECK(desk.ask("status").code == ExitCode::done);
    CHECK(desk.ask("events list").code == ExitCode::done);
    CHECK(desk.ask("events trace", {{"id", {"orders/0/0"}}}).code == ExitCode::done);
    inbox::ShardState shard;
    shard.gap = event::OffsetRange{0, 1};
    shard.position = 0;
    CHECK(failure_of([&] { inbox::accept_gap(*connection, shard, "ann"); }).sqlstate == "42501");
    CHECK_FALSE(inbox::missing_rights(*connection).empty());
  }
  CHECK(inbox::missing_rights(inbox.connection()).empty());
  database.run("drop owned by " + role + "; drop role " + role);
}

TEST_CASE("check sees a pooler that forgets prepared statements, and that there is none") {
  const auto look = [](const std::string& url) {
    config::Database settings;
    settings.url = url;
    settings.prepare = false;
    inbox::Watchdog watchdog;
    base::Logger log{base::LogLevel::error, base::LogFormat::text};
    inbox::Connection first{settings, "check", watchdog, log};
    inbox::Connection second{settings, "check", watchdog, log};
    return inbox::inspect_server(first, &second);
  };
  const auto url = needed("INBOXD_TEST_PG");
  const auto direct = look(url);
  CHECK(direct.pooler == inbox::Pooler::none);
  CHECK_FALSE(direct.loses_prepared_statements);
  CHECK(direct.version_number >= 140'000);
  CHECK(direct.encoding == "UTF8");
  CHECK_FALSE(direct.compiles_statements);
  CHECK_FALSE(direct.waits_without_limit);
  CHECK_FALSE(look(url + "?options=-c%20timezone%3DUTC").waits_without_limit);
  CHECK(look(url + "?options=-c%20lock_timeout%3D0").waits_without_limit);
  CHECK(look(url + "?options=-c%20idle_in_transaction_session_timeout%3D0").waits_without_limit);
  CHECK_FALSE(look(url + "?options=-c%20timezone%3DUTC").compiles_statements);
  CHECK(look(url + "?options=-c%20jit%3Don").compiles_statements);  // who asks for it gets it
  CHECK(look(url + "?options=-c%20default_transaction_isolation%3Dserializable").isolation == "read committed");
  PgBouncer pooler{url};
  const auto pooled = look(pooler.url());
  CHECK(pooled.pooler == inbox::Pooler::transaction);
  CHECK(pooled.loses_prepared_statements);
  CHECK(pooled.compiles_statements);
  CHECK(pooled.waits_without_limit);
}
