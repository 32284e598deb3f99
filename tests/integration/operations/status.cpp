// Status, handlers and quarantine as stored in the database; rights of roles; checks of poolers.
#include <catch2/catch_test_macros.hpp>

#include "history/packed.hpp"
#include "inbox/unsubscribed.hpp"
#include "integration/operations/dead_letters.hpp"
#include "integration/operations/operation_runner.hpp"
#include "operations/partition_queries.hpp"
#include "operations/server_queries.hpp"
#include "operations/status_queries.hpp"
#include "support/pgbouncer.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

TEST_CASE("status --sizes shows the bytes of each table and day, and the days until the oldest is dropped") {
  Inbox inbox;
  Batch{inbox}.at(inbox.add_shard("orders"), 0).events(100, std::string(1'000, 'x')).store(inbox.connection());
  OperationRunner runner{inbox};
  CHECK_FALSE(runner.run("status").document.contains("sizes"));
  const auto sizes = runner.run("status", {{"sizes", {"true"}}}).document.at("sizes");
  const auto today = inbox.database().text("select to_char(now() at time zone 'UTC', 'YYYY-MM-DD')");
  std::int64_t ledger = 0, of_today = 0, days = 0;
  for (const auto& one : sizes.at("tables")) {
    if (one.at("table") == "ledger") ledger = one.at("bytes");
    days += one.at("table") == "event" && !one.at("day").is_null() ? 1 : 0;
    if (one.at("table") == "event" && one.at("day") == today) of_today = one.at("bytes");
  }
  CHECK(ledger > 0);
  CHECK(of_today > 100'000);
  CHECK(days ==
        inbox.database().number("select count(*) - 1 from pg_inherits where inhparent = 'inbox.event'::regclass"));
  CHECK(sizes.at("bytes") > of_today + ledger);
  CHECK(sizes.at("growth").at(0).at("table") == "event");
  CHECK(sizes.at("growth").at(0).at("days_left") > 29);
}

TEST_CASE("status has what live instances say about their handlers, and only live instances") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  inbox::HandlerActivity activity;
  activity.handler_id = handler;
  activity.running_calls = 3;
  activity.concurrency = 8;
  activity.away_for = std::chrono::seconds{20};
  activity.away_error = "http.unreachable: http://127.0.0.1:8080: \"refused\"\n\x01";
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false, std::nullopt, {handler},
                            {activity});
  OperationRunner runner{inbox};
  auto document = runner.run("status").document;
  CHECK(document.at("handlers").at(0).at("running_calls") == 3);
  CHECK(document.at("handlers").at(0).at("concurrency") == 8);
  REQUIRE(document.at("findings").size() == 1);
  CHECK(document.at("findings").at(0).at("kind") == "service_away");
  CHECK_FALSE(document.at("findings").at(0).at("since").is_null());
  inbox.database().run("update inbox.instance set last_seen_at = last_seen_at - interval '1 minute'");
  document = runner.run("status").document;
  CHECK(document.at("handlers").at(0).at("running_calls").is_null());
  CHECK(document.at("findings").at(0).at("kind") == "no_live_daemon");
}

TEST_CASE("status tells from the last hour, as all instances wrote it, since when a handler fails") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  inbox::HandlerActivity activity;
  activity.handler_id = handler;
  activity.span = std::chrono::seconds{14};
  activity.done = 5;
  activity.failed = 20;
  activity.last_error_class = "http.500";
  history::View minutes;
  minutes.step = history::minute_step;
  minutes.steps = 60;
  minutes.end = inbox.database().number("select floor(extract(epoch from now()) / 60)::int8 * 60");
  auto& track = minutes.handlers["receipt"];
  track.fields.assign(history::handler_fields.size(), history::Values(60, 0));
  for (std::size_t i = 50; i < 60; ++i) track.fields[history::failed][i] = 1;
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false, std::nullopt, {handler},
                            {activity}, history::pack(minutes));
  OperationRunner runner{inbox};
  const auto finding = runner.run("status").document.at("findings").at(0);
  CHECK(finding.at("kind") == "handler_fails");
  const std::string message = finding.at("message");
  INFO(message);
  CHECK(message.starts_with("about 600 of 600 calls of handler receipt failed in the last 1"));
  CHECK_FALSE(finding.at("since").is_null());
}

TEST_CASE("status counts the dead letters and quarantined records of the last hour") {
  Inbox inbox;
  add_dead_letters(inbox, 12);
  const auto shard = inbox.add_shard("plain");
  for (int i = 0; i < 3; ++i) Batch{inbox}.at(shard, i).reject("no_id").store(inbox.connection());
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false);
  OperationRunner runner{inbox};
  const auto kinds = [&] {
    std::string out;
    const auto document = runner.run("status").document;
    for (const auto& finding : document.at("findings")) {
      out += finding.at("kind").get<std::string>() + " ";
    }
    return out;
  };
  CHECK(kinds() == "dead_letters_grow topic_quarantined ");
  inbox.database().run("update inbox.dead_letter set died_at = died_at - interval '20 minutes'");
  inbox.database().run("update inbox.quarantine set received_at = received_at - interval '2 hours'");
  CHECK(kinds() == "dead_letters quarantine ");
}

TEST_CASE("a topic that no daemon has read for a day leaves status, and stays in partitions list") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  inbox::record_watermarks(inbox.connection(), {{shard, 100}});
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false);
  OperationRunner runner{inbox};
  CHECK(runner.run("status").document.at("topics").size() == 1);
  inbox.database().run("update inbox.shard set observed_at = observed_at - interval '25 hours'");
  CHECK(runner.run("status").document.at("topics").empty());
  CHECK(runner.run("partitions list").document.at("partitions").size() == 1);
}

TEST_CASE("status shows positions, lag, pending events and live daemons") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch{inbox}.at(shard, 0).events(10).deliver_to(handler).store(inbox.connection());
  Batch{inbox}
      .at(shard, 10)
      .events(5)
      .deliver_to(handler, milliseconds{30'000})
      .reject("no_id")
      .store(inbox.connection());
  inbox::record_watermarks(inbox.connection(), {{shard, 100}});
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false, std::nullopt, {handler});

  const auto document = OperationRunner{inbox}.run("status").document;
  CHECK(document.at("is_well") == true);
  CHECK(document.at("verdict") ==
        "no problems; 1 in quarantine, all of topic orders, reason no_id, 1 in the last hour");
  CHECK(document.at("topics").at(0).at("position") == 16);
  CHECK(document.at("topics").at(0).at("lag") == 84);
  CHECK(document.at("handlers").at(0).at("due") == 10);
  CHECK(document.at("handlers").at(0).at("leased") == 5);
  CHECK(document.at("instances").at(0).at("host") == "host-a");
  CHECK(document.at("quarantined") == 1);
  CHECK(document.at("instances").at(0).at("trouble").is_null());

  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false, "the brokers do not answer",
                            {handler});
  CHECK(OperationRunner{inbox}.run("status").document.at("verdict") ==
        "host-a: the brokers do not answer; 1 in quarantine, all of topic orders, reason no_id, 1 in the last hour");
}

TEST_CASE("a daemon that has stopped is not counted as running") {
  Inbox inbox;
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false);
  CHECK(OperationRunner{inbox}.run("status").document.at("is_well") == true);
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, true);
  CHECK(OperationRunner{inbox}.run("status").document.at("verdict") == "no daemon is running");
}

TEST_CASE("status exits with 1 if an operator has to act") {
  Inbox inbox;
  OperationRunner runner{inbox};
  const auto run = [&] {
    const auto answer = runner.run("status");
    std::vector<std::string> kinds;
    for (const auto& finding : answer.document.at("findings")) kinds.push_back(finding.at("kind"));
    CHECK((answer.code == ExitCode::no) == !kinds.empty());
    CHECK(answer.document.at("is_well") == kinds.empty());
    return kinds;
  };
  using Kinds = std::vector<std::string>;
  const auto handler = inbox.add_handler("receipt", {"orders", "ordres"});
  const auto shard = inbox.add_shard("orders");
  CHECK(run() == Kinds{"no_live_daemon"});
  const auto seen = [&](std::vector<std::string> topics, std::vector<std::int32_t> handlers) {
    inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42, std::move(topics)}, false, std::nullopt,
                              handlers);
  };
  seen({"orders", "^ordr"}, {handler});
  CHECK(run().empty());
  inbox.database().run("update inbox.instance set last_seen_at = clock_timestamp() - interval '16 seconds'");
  CHECK(run() == Kinds{"no_live_daemon"});
  seen({"orders"}, {handler});
  CHECK(run() == Kinds{"topic_not_read"});
  seen({"orders", "^ordr"}, {});
  CHECK(run().empty());
  Batch{inbox}.at(shard, 0).events(3).deliver_to(handler).store(inbox.connection());
  CHECK(run() == Kinds{"handler_without_instance"});
  seen({"orders", "^ordr"}, {handler});
  inbox.halt(shard, "a test", std::nullopt);
  CHECK(run() == Kinds{"partition_halted"});
}

TEST_CASE(
    "events without a handler are reported until a handler subscribes, however often and wherever they were counted") {
  Inbox inbox;
  auto& connection = inbox.connection();
  using Events = std::vector<inbox::UnsubscribedEvents>;
  inbox.add_handler("receipt", {"orders"}, {"OrderPlaced"});
  inbox::note_unsubscribed(connection, {{"orders", "order.placed", 40}, {"returns", "Returned", 7}});
  inbox::note_unsubscribed(*inbox.connect(), {{"orders", "order.placed", 2}});
  const auto status = inbox::read_unsubscribed(connection, 10);
  CHECK(status == Events{{"orders", "order.placed", 42}, {"returns", "Returned", 7}});
  CHECK(inbox::read_unsubscribed(connection, 1).size() == 1);
  const auto answer = OperationRunner{inbox}.run("status");
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.document.at("unsubscribed").size() == 2);

  inbox.add_handler("returned", {"returns"}, {"Ret*"});
  CHECK(inbox::read_unsubscribed(connection, 10) == Events{{"orders", "order.placed", 42}});
  inbox::trim_unsubscribed(connection, std::nullopt);
  CHECK(inbox.database().number("select count(*) from inbox.unsubscribed") == 1);
  inbox.database().run("update inbox.unsubscribed set last_at = now() - interval '2 hours'");
  inbox::trim_unsubscribed(connection, std::chrono::hours{3});
  CHECK(inbox::read_unsubscribed(connection, 10).size() == 1);
  inbox::trim_unsubscribed(connection, std::chrono::hours{1});
  CHECK(inbox::read_unsubscribed(connection, 10).empty());
}

TEST_CASE("a producer with endless types fills no table: a thousand rows, and a row per topic for the rest") {
  Inbox inbox;
  for (int round = 0; round < 3; ++round) {
    std::vector<inbox::UnsubscribedEvents> events;
    for (int i = 0; i < 900; ++i) events.push_back({"orders", std::to_string(round) + "-" + std::to_string(i), 1});
    inbox::note_unsubscribed(inbox.connection(), events);
  }
  CHECK(inbox.database().number("select count(*) from inbox.unsubscribed") == 1'001);
  CHECK(inbox.database().number("select sum(events)::bigint from inbox.unsubscribed") == 2'700);
  CHECK(inbox::read_unsubscribed(inbox.connection(), 1).front().event_type == inbox::Unsubscribed::other_types);
}

TEST_CASE("no lag is shown while the end of the log is unknown or outdated, or no daemon runs") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  const auto status = [&] { return OperationRunner{inbox}.run("status").document.at("topics").at(0); };
  CHECK(status().at("lag").is_null());
  CHECK(inbox.database().text("select (lag is null and observed_at is null)::text from inbox.lag") == "true");
  inbox::record_watermarks(inbox.connection(), {{shard, 10}});
  CHECK(status().at("lag").is_null());
  const inbox::InstanceIdentity daemon{inbox.owner, "host-a", 42};
  inbox::instance_heartbeat(inbox.connection(), daemon, false);
  CHECK(status().at("lag") == 0);
  CHECK(inbox.database().text("select (observed_at > now() - interval '10 s')::text from inbox.lag") == "true");
  inbox::record_watermarks(inbox.connection(), {{shard, 10, std::nullopt, milliseconds{60'000}}});
  CHECK(status().at("lag").is_null());
  CHECK(status().at("high_watermark") == 10);
  CHECK(status().at("observed_age_seconds") >= 60);
  inbox::record_watermarks(inbox.connection(), {{shard, 10}});
  inbox::instance_heartbeat(inbox.connection(), daemon, true);
  CHECK(status().at("lag").is_null());
}

TEST_CASE("an open transaction shows as a last stable offset below the end, with the time since") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders", 0, 10);
  const auto note = [&](std::int64_t high, std::optional<std::int64_t> stable) {
    inbox::record_watermarks(inbox.connection(), {{shard, high, stable}});
    return inbox.database().rows("select held_since::text from inbox.shard")[0][0];
  };
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false);
  CHECK_FALSE(note(10, 10));
  const auto since = note(15, 10);
  REQUIRE(since);
  CHECK(note(20, 10) == since);
  CHECK(note(20, std::nullopt) == since);  // not reported this time
  const auto finding = [&] { return OperationRunner{inbox}.run("status").document.at("remarks").dump(); };
  CHECK(finding().find("open transaction") == std::string::npos);
  inbox.database().run("update inbox.shard set held_since = held_since - interval '2 minutes'");
  CHECK(finding().find("an open transaction holds orders/0 back at offset 10 since ") != std::string::npos);
  const auto later = note(30, 20);
  CHECK(later);
  CHECK(later != since);
  CHECK_FALSE(note(30, 30));
}

TEST_CASE("status stops counting at a limit") {
  Inbox inbox;
  const auto handler = std::to_string(inbox.add_handler("receipt"));
  const auto shard = std::to_string(inbox.add_shard("orders"));
  inbox.database().run(
      "insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, "
      "received_to) select " +
      handler + ", " + shard +
      ", int8multirange(int8range(n, n + 1)), 1, now(), now(), now() from generate_series(1, 15000) n");
  const auto pending = OperationRunner{inbox}.run("status").document.at("handlers").at(0);
  CHECK(pending.at("due") == 12'000);
  CHECK(pending.at("at_least_due") == true);
}

TEST_CASE("a retried event's age counts from its arrival, whenever it is due") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch{inbox}.at(inbox.add_shard("orders"), 0).events(10).deliver_to(handler).store(inbox.connection());
  const auto age = [&] { return operations::read_handlers(inbox.connection()).at(0).oldest_retrying_age; };
  inbox.database().run("update inbox.delivery set received_from = now() - interval '1 day'");
  CHECK_FALSE(age().has_value());
  inbox.database().run("update inbox.delivery set attempts = 1");
  CHECK(age() >= std::chrono::hours{24});
  inbox.database().run("update inbox.delivery set due_at = now() + interval '1 hour'");
  CHECK(age() >= std::chrono::hours{24});
  CHECK_FALSE(operations::read_handlers(inbox.connection()).at(0).oldest_due_age.has_value());
}

TEST_CASE("handlers are listed with their subscriptions, retired handlers too, but not in status") {
  Inbox inbox;
  OperationRunner runner{inbox};
  CHECK(runner.run("handlers list").code == ExitCode::no);
  inbox.add_handler("receipt", {"orders", "a \"quoted\", topic"}, {"Order*"});
  inbox.add_handler("old");
  inbox.database().run("update inbox.handler set retired_at = now() where name = 'old'");
  const auto handlers = runner.run("handlers list").document.at("handlers");
  REQUIRE(handlers.size() == 2);
  CHECK(handlers.at(1).at("topics") == operations::Document({"orders", "a \"quoted\", topic"}));
  CHECK(handlers.at(1).at("types") == operations::Document::array({"Order*"}));
  CHECK(runner.run("status").document.at("handlers").size() == 1);
}

TEST_CASE("quarantined records are listed by topic and reason, and shown whole by number or offset") {
  Inbox inbox;
  Batch{inbox}.at(inbox.add_shard("orders"), 0).reject("no_id").reject("bad_id").store(inbox.connection());
  OperationRunner runner{inbox};
  CHECK(runner.run("quarantine list").document.at("records").size() == 2);
  CHECK(runner.run("quarantine list", {{"reason", {"bad_id"}}}).document.at("records").size() == 1);
  CHECK(runner.run("quarantine list", {{"topic", {"nothing"}}}).code == ExitCode::no);
  const auto shown = runner.run("quarantine show", {{"id", {"orders/0/1"}}}).document.at("records").at(0);
  CHECK(shown.at("reason") == "bad_id");
  CHECK(shown.at("payload") == "raw");
  const auto id = shown.at("quarantine_id").dump();
  CHECK(runner.run("quarantine show", {{"id", {id}}}).document.at("records").size() == 1);
  CHECK(runner.run("quarantine show", {{"id", {"x"}}}).code == ExitCode::usage);
  CHECK(runner.run("quarantine show", {{"id", {"999999"}}}).code == ExitCode::no);
}

TEST_CASE("a read-only role can read everything and change nothing") {
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
    OperationRunner runner{inbox};
    runner.context.connection = connection.get();
    CHECK(runner.run("status").code == ExitCode::no);
    CHECK(runner.run("events list").code == ExitCode::done);
    CHECK(runner.run("events trace", {{"id", {"orders/0/0"}}}).code == ExitCode::done);
    operations::PartitionState shard;
    shard.gap = event::OffsetRange{0, 1};
    shard.position = 0;
    CHECK(failure_of([&] { operations::accept_gap(*connection, shard, "ann"); }).sqlstate == "42501");
    CHECK_FALSE(operations::missing_rights(*connection).empty());
  }
  CHECK(operations::missing_rights(inbox.connection()).empty());
  database.run("drop owned by " + role + "; drop role " + role);
}

TEST_CASE("check detects a pooler that forgets prepared statements, and the absence of a pooler") {
  const auto check = [](const std::string& url) {
    config::Database settings;
    settings.url = url;
    settings.prepare = false;
    inbox::Watchdog watchdog;
    base::Logger log{base::LogLevel::error, base::LogFormat::text};
    inbox::Connection first{settings, "check", watchdog, log};
    inbox::Connection second{settings, "check", watchdog, log};
    return operations::inspect_server(first, &second);
  };
  const auto url = needed("INBOXD_TEST_PG");
  const auto direct = check(url);
  CHECK(direct.pooler == operations::Pooler::none);
  CHECK_FALSE(direct.loses_prepared_statements);
  CHECK(direct.version_number >= 140'000);
  CHECK_FALSE(direct.compiles_statements);
  CHECK_FALSE(direct.waits_without_limit);
  CHECK_FALSE(check(url + "?options=-c%20timezone%3DUTC").waits_without_limit);
  CHECK(check(url + "?options=-c%20lock_timeout%3D0").waits_without_limit);
  CHECK(check(url + "?options=-c%20idle_in_transaction_session_timeout%3D0").waits_without_limit);
  CHECK_FALSE(check(url + "?options=-c%20timezone%3DUTC").compiles_statements);
  CHECK(check(url + "?options=-c%20jit%3Don").compiles_statements);  // set explicitly
  CHECK(check(url + "?options=-c%20default_transaction_isolation%3Dserializable").isolation == "read committed");
  PgBouncer pooler{url};
  const auto pooled = check(pooler.url());
  CHECK(pooled.pooler == operations::Pooler::transaction);
  CHECK(pooled.loses_prepared_statements);
  CHECK(pooled.compiles_statements);
  CHECK(pooled.waits_without_limit);
}
