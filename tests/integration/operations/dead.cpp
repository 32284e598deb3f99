// Dead letters: found, listed, discarded.
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

TEST_CASE("filters select by handler, type, error class, message, time and id") {
  Inbox inbox;
  add_dead_letters(inbox, 2, "receipt", "orders", "timeout.read");
  add_dead_letters(inbox, 3, "audit", "payments", "validation");
  const auto matched = [&](const std::map<std::string, std::vector<std::string>>& filter) {
    auto given = filter;
    given["dry-run"] = {"true"};
    return OperationRunner{inbox}.run("dead replay", given).document.at("matched").get<int>();
  };
  CHECK(matched({{"handler", {"audit"}}}) == 3);
  CHECK(matched({{"handler", {"nobody"}}}) == 0);
  CHECK(matched({{"type", {"Order*"}}}) == 5);
  CHECK(matched({{"type", {"Order"}}}) == 0);
  CHECK(matched({{"error", {"timeout*"}}}) == 2);
  CHECK(matched({{"error", {"timeout*", "validation"}}}) == 5);
  CHECK(matched({{"message", {"ANSWER"}}}) == 5);
  CHECK(matched({{"message", {"%"}}}) == 0);
  CHECK(matched({{"since", {"2000-01-01T00:00:00Z"}}}) == 5);
  CHECK(matched({{"until", {"2000-01-01T00:00:00Z"}}}) == 0);
  const auto id = inbox.database().text("select dead_letter_id from inbox.dead_letter limit 1");
  const auto event =
      inbox.database().text("select event_id from inbox.dead_letter where dead_letter_id <> $1 limit 1", {id});
  CHECK(matched({{"id", {id}}}) == 1);
  CHECK(matched({{"id", {id, event}}}) == 2);
  CHECK(matched({{"id", {id}}, {"handler", {"nobody"}}}) == 0);
}

TEST_CASE("dead letters of a key are listed, replayed and discarded; the audit does not have the key") {
  Inbox inbox;
  add_dead_letters(inbox, 3);
  inbox.database().run("update inbox.dead_letter set key = convert_to('ann', 'UTF8') where \"offset\" < 2");
  OperationRunner runner{inbox};
  CHECK(runner.run("dead list", {{"key", {"ann"}}}).document.at("dead_letters").size() == 2);
  CHECK(runner.run("dead list", {{"key-hex", {"616e6e"}}, {"group-by", {"handler"}}}).document.at("total") == 2);
  CHECK(runner.run("dead list", {{"key", {"an"}}}).code == ExitCode::no);
  CHECK(runner.run("dead list", {{"key-hex", {"6"}}}).code == ExitCode::usage);
  const auto [verb, past] =
      GENERATE(table<std::string, std::string>({{"dead replay", "replayed"}, {"dead discard", "discarded"}}));
  CHECK(runner.run(verb, {{"key", {"ann"}}}).document.at(past) == 2);
  CHECK(dead_letters(inbox) == 1);
  CHECK(inbox.database().number(
            "select count(*) from inbox.audit where target like '%ann%' or detail::text like '%ann%'") == 0);
}

TEST_CASE("replaying or discarding everything needs --all") {
  Inbox inbox;
  add_dead_letters(inbox, 1);
  CHECK(OperationRunner{inbox}.run("dead replay").code == ExitCode::usage);
  CHECK(OperationRunner{inbox}.run("dead discard").code == ExitCode::usage);
  CHECK(dead_letters(inbox) == 1);
}

TEST_CASE("a dead letter is found by its number, its event_id, the producer's id, or its offset in Kafka") {
  Inbox inbox;
  add_dead_letters(inbox, 3);
  inbox.database().run("update inbox.dead_letter set source_id = 'ORDER-' || \"offset\"");
  const auto of_second = [&](const std::string& column) {
    return inbox.database().text("select " + column + "::text from inbox.dead_letter where \"offset\" = 1");
  };
  const std::string column = GENERATE("dead_letter_id", "event_id", "source_id", "none");
  const std::string id = column == "none" ? "orders/0/1" : of_second(column);
  CAPTURE(id);
  OperationRunner runner{inbox};
  const auto shown = runner.run("dead show", {{"id", {id}}});
  CHECK(shown.code == ExitCode::done);
  REQUIRE(shown.document.at("dead_letters").size() == 1);
  CHECK(shown.document.at("dead_letters").at(0).at("event").at("offset") == 1);
  const std::string verb = GENERATE("dead replay", "dead discard");
  CHECK(runner.run(verb, {{"id", {id, "ORDER-77"}}}).message == verb + ": no dead letter \"ORDER-77\"");
  CHECK(inbox.database().text("select array_agg(\"offset\" order by \"offset\") from inbox.dead_letter") == "{0,2}");
}

TEST_CASE("an ID that several events' dead letters share lists them, and replays or discards none") {
  Inbox inbox;
  add_dead_letters(inbox, 2);
  inbox.database().run("update inbox.dead_letter set source_id = 'ORDER-7', source = '/shop/' || \"offset\"");
  OperationRunner runner{inbox};
  for (const std::string verb : {"dead show", "dead replay", "dead discard"}) {
    const auto answer = runner.run(verb, {{"id", {"ORDER-7"}}});
    CHECK(answer.code == ExitCode::no);
    CHECK(answer.message == verb + ": dead letters of 2 events have the id \"ORDER-7\"; pass an event_id");
    REQUIRE(answer.document.at("events").size() == 2);
    CHECK(answer.document.at("events").at(0).at("event_id") != answer.document.at("events").at(1).at("event_id"));
  }
  CHECK(dead_letters(inbox) == 2);
}

TEST_CASE("an ID that is an event's event_id means that event, even if a producer used it for another") {
  Inbox inbox;
  add_dead_letters(inbox, 2);
  const auto id = inbox.database().text("select event_id::text from inbox.dead_letter where \"offset\" = 0");
  inbox.database().run("update inbox.dead_letter set source_id = $1 where \"offset\" = 1", {id});
  const auto shown = OperationRunner{inbox}.run("dead show", {{"id", {id}}});
  REQUIRE(shown.document.at("dead_letters").size() == 1);
  CHECK(shown.document.at("dead_letters").at(0).at("event").at("offset") == 0);
}

TEST_CASE("an ID that is a dead letter's number means that dead letter; only `dead show` reads it as a producer's id") {
  Inbox inbox;
  add_dead_letters(inbox, 2);
  const auto number = inbox.database().text("select min(dead_letter_id) from inbox.dead_letter");
  inbox.database().run("update inbox.dead_letter set source_id = $1 where dead_letter_id <> $1::bigint", {number});
  inbox.database().run("update inbox.dead_letter set source_id = '4711' where dead_letter_id = $1::bigint", {number});
  OperationRunner runner{inbox};
  const auto shown = [&](const std::string& id) {
    return runner.run("dead show", {{"id", {id}}}).document.at("dead_letters").at(0).at("dead_letter_id").dump();
  };
  CHECK(shown(number) == number);
  CHECK(shown("4711") == number);
  const auto none = runner.run("dead show", {{"id", {"4712"}}});
  CHECK(none.code == ExitCode::no);
  CHECK(none.message.starts_with("dead show: no dead letter \"4712\"; an ID is a number"));
  for (const std::string verb : {"dead replay", "dead discard"}) {
    const auto changed = runner.run(verb, {{"id", {"4711"}}});
    CHECK(changed.code == ExitCode::no);
    CHECK(changed.message.starts_with(verb + ": no dead letter \"4711\"; digits alone are a number from `dead list`"));
  }
  CHECK(dead_letters(inbox) == 2);
}

TEST_CASE("a discarded dead letter leaves an outcome and an audit entry") {
  Inbox inbox;
  add_dead_letters(inbox, 3);
  const auto answer = OperationRunner{inbox}.run("dead discard", {{"error", {"timeout*"}}});
  CHECK(answer.document.at("discarded") == 3);
  CHECK(dead_letters(inbox) == 0);
  CHECK(inbox.database().text("select offsets || ' ' || attempts from inbox.outcome where outcome = 'discarded'") ==
        "{[0,3)} 1");
  CHECK(inbox.database().text("select actor || '|' || operation || '|' || target || '|' || (detail ->> 'events') "
                              "from inbox.audit where operation like 'dead %'") ==
        "ann@host|dead discard|--error timeout*|3");
  CHECK(inbox.pending_events() == 0);
}

TEST_CASE("a dead-lettered event stays one row of view deliveries, whatever happens to its dead letter") {
  Inbox inbox;
  const auto handler = add_dead_letters(inbox, 1);
  OperationRunner runner{inbox};
  const auto states = [&] {
    return inbox.database().text("select coalesce(string_agg(state, ' '), 'none') from inbox.deliveries");
  };
  CHECK(states() == "dead");
  const auto die_again = [&] {
    REQUIRE(runner.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
    CHECK(states() == "due");
    const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
    inbox::Settlement settlement;
    settlement.key = run.key;
    settlement.whole = true;
    settlement.dead = {{0, run.events[0]->event_id}};
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
    CHECK(states() == "dead");
  };
  die_again();
  SECTION("discarded") {
    CHECK(runner.run("dead discard", {{"all", {"true"}}}).code == ExitCode::done);
    CHECK(states() == "discarded");
  }
  SECTION("past its retention") {
    CHECK(inbox::trim_old_rows(inbox.connection(), milliseconds{0}, {}, 100) == 1);
    CHECK(states() == "dead");
  }
  SECTION("replayed and done") {
    REQUIRE(runner.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
    const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {all_done(run)}).empty());
    CHECK(states() == "done");
  }
}

TEST_CASE("dead letters of a retired handler can be discarded, not replayed") {
  Inbox inbox;
  add_dead_letters(inbox, 2);
  inbox.database().run("update inbox.handler set retired_at = now()");
  const auto replay = OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}});
  CHECK(replay.code == ExitCode::no);
  CHECK(replay.document.at("of_retired_handlers") == 2);
  CHECK(OperationRunner{inbox}.run("dead discard", {{"all", {"true"}}}).document.at("discarded") == 2);
}

TEST_CASE("a replay into a handler that is being retired is dropped with its other events") {
  Inbox inbox;
  add_dead_letters(inbox, 3);
  auto& database = inbox.database();
  Session busy{database.url(), database.schema()};
  busy.run("begin");
  busy.run("select from inbox.dead_letter for update");
  const auto in_background = [&](const std::string& verb,
                                 const std::map<std::string, std::vector<std::string>>& given) {
    return std::async(std::launch::async, [&inbox, verb, given] {
      const auto connection = inbox.connect();
      OperationRunner runner{inbox};
      runner.context.connection = connection.get();
      return runner.run(verb, given);
    });
  };
  auto replay = in_background("dead replay", {{"all", {"true"}}});
  database.wait_for("the replay waits for a letter",
                    "select count(*) from pg_locks l join pg_stat_activity a using (pid) where not l.granted and "
                    "l.locktype in ('transactionid', 'tuple') and a.query like '%' || '" +
                        database.schema() + "' || '.replay_dead%'",
                    1);
  auto retire = in_background("handlers retire", {{"handler", {"receipt"}}});
  database.wait_for("the retirement waits for the replay",
                    "select count(*) from pg_locks where locktype = 'advisory' and classid = 1768841848 "
                    "and objid = 'inbox.routing'::regclass::oid and not granted",
                    1);
  busy.run("commit");
  CHECK(replay.get().document.at("replayed") == 3);
  CHECK(retire.get().code == ExitCode::done);
  CHECK(inbox.pending_events() == 0);
}

TEST_CASE("dead letters beyond a command's limit are reported, and left for the next") {
  Inbox inbox;
  add_dead_letters(inbox, 5);
  OperationRunner runner{inbox};
  runner.context.max_rows = 2;
  for (const std::string verb : {"dead replay", "dead discard"}) {
    CAPTURE(verb);
    const auto plan = runner.run(verb, {{"all", {"true"}}, {"dry-run", {"true"}}});
    CHECK(plan.document.at("matched") == 2);
    CHECK(plan.document.at("more") == true);
    CHECK(plan.message.find("limited to the first 2; for the rest, repeat the command with --until 2") !=
          std::string::npos);
    const auto answer = runner.run(verb, {{"all", {"true"}}});
    CHECK(answer.code == ExitCode::done);
    CHECK(answer.document.at("more") == true);
    CHECK(answer.message.find("limited to the first 2; for the rest, repeat the command with --until 2") !=
          std::string::npos);
  }
  REQUIRE(dead_letters(inbox) == 1);
  const auto last = runner.run("dead replay", {{"all", {"true"}}});
  CHECK(last.document.at("matched") == 1);
  CHECK(last.document.at("more") == false);
  CHECK(last.message.empty());
}

TEST_CASE("dead letters of retired handlers do not hide the others from a replay") {
  Inbox inbox;
  for (const std::string name : {"first", "second"}) add_dead_letters(inbox, 3, name, name);
  inbox.database().run(
      "update inbox.handler set retired_at = now() where handler_id = (select min(handler_id) from inbox.handler)");
  OperationRunner runner{inbox};
  runner.context.max_rows = 3;
  const auto answer = runner.run("dead replay", {{"all", {"true"}}});
  CHECK(answer.document.at("replayed") == 3);
  CHECK(answer.document.at("more") == false);
  CHECK(answer.document.at("of_retired_handlers") == 3);
  CHECK(dead_letters(inbox) == 3);
}

TEST_CASE("the list shows the newest and their groups; a single dead letter shows its event and every error") {
  Inbox inbox;
  add_dead_letters(inbox, 2, "receipt", "orders", "timeout.read");
  add_dead_letters(inbox, 3, "audit", "payments", "validation");
  OperationRunner runner{inbox};
  const auto list = runner.run("dead list", {{"limit", {"2"}}}).document;
  CHECK(list.at("total") == 5);
  CHECK(list.at("dead_letters").size() == 2);
  CHECK(list.at("groups").at(0).at("handler") == "audit");
  CHECK(list.at("groups").at(0).at("dead") == 3);
  CHECK_FALSE(list.at("dead_letters").at(0).at("event").contains("payload"));

  const auto id = list.at("dead_letters").at(0).at("dead_letter_id").dump();
  const auto dead_letter = runner.run("dead show", {{"id", {id}}}).document.at("dead_letters").at(0);
  CHECK(dead_letter.at("event").at("payload") == "{\"order\": 7}");
  CHECK(dead_letter.at("reasons").at(0).at("message") == "no answer from mail");
  CHECK(runner.run("dead show", {{"id", {"999999"}}}).code == ExitCode::no);
  CHECK(runner.run("dead list", {{"handler", {"nobody"}}}).code == ExitCode::no);
}

TEST_CASE("pages of dead letters with the same time repeat none and miss none, also of several handlers") {
  Inbox inbox;
  add_dead_letters(inbox, 7, "receipt", "orders");
  add_dead_letters(inbox, 5, "audit", "payments");
  OperationRunner runner{inbox};
  std::map<std::string, std::vector<std::string>> given{{"limit", {"5"}}};
  std::vector<std::int64_t> seen;
  for (;;) {
    const auto page = runner.run("dead list", given).document;
    CHECK(page.at("total") == 12);  // of all pages
    for (const auto& letter : page.at("dead_letters")) seen.push_back(letter.at("dead_letter_id").get<std::int64_t>());
    if (page.at("next").is_null()) break;
    given["before"] = {page.at("next").get<std::string>()};
  }
  CHECK(seen == std::vector<std::int64_t>{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(runner.run("dead list", {{"before", {"12"}}}).message ==
        "dead list: --before takes `next` of an earlier answer, as --json shows it");
}

TEST_CASE("groups of dead letters tell how many died in each hour of the last day") {
  Inbox inbox;
  add_dead_letters(inbox, 6);
  inbox.database().run(
      "update inbox.dead_letter set died_at = now() - case when \"offset\" < 2 then interval '90 minutes' "
      "when \"offset\" = 2 then interval '30 hours' else interval '1 second' end");
  const auto group = OperationRunner{inbox}.run("dead list").document.at("groups").at(0);
  CHECK(group.at("dead") == 6);
  CHECK(group.at("last_day") == operations::Document{{"0", 3}, {"1", 2}});
}

TEST_CASE("the newest note on a handler's dead letters of a class stands with their group, until it is taken away") {
  Inbox inbox;
  add_dead_letters(inbox, 2, "receipt", "orders", "timeout.read");
  add_dead_letters(inbox, 3, "audit", "payments", "validation");
  OperationRunner runner{inbox};
  const auto note = [&](const std::string& text, const std::string& error = "timeout.read") {
    return runner.run("dead note", {{"note", {text}}, {"handler", {"receipt"}}, {"error", {error}}});
  };
  const auto shown = [&] {
    const auto groups = runner.run("dead list").document.at("groups");
    CHECK(groups.at(0).at("note").is_null());  // of the other handler
    return groups.at(1).at("note");
  };
  CHECK(note("asked the shop").document.at("matched") == 2);
  CHECK(note("fixed in 1.4").code == ExitCode::done);
  CHECK(shown() == "fixed in 1.4");
  CHECK(runner.run("dead list").document.at("groups").at(1).at("noted_by").get<std::string>() != "");
  CHECK(runner.run("dead note", {{"note", {"x"}}, {"handler", {"receipt"}}, {"error", {"timeout.read"}},
                                 {"dry-run", {"true"}}}).code == ExitCode::done);
  CHECK(note("", "timeout*").code == ExitCode::no);  // a class, no pattern
  CHECK(note(std::string(1'001, 'x')).code == ExitCode::usage);
  CHECK(shown() == "fixed in 1.4");
  CHECK(note("").code == ExitCode::done);
  CHECK(shown().is_null());
  CHECK(inbox.database().number("select count(*) from inbox.audit where operation = 'dead note'") == 3);
}

TEST_CASE("dead letters are counted by error, type or handler, the largest group first") {
  Inbox inbox;
  add_dead_letters(inbox, 2, "receipt", "orders", "timeout.read");
  add_dead_letters(inbox, 3, "audit", "payments", "validation");
  add_dead_letters(inbox, 2, "ledger", "refunds", "validation");
  inbox.database().run("update inbox.dead_letter set event_type = 'Refunded' where \"offset\" = 0");
  OperationRunner runner{inbox};
  const auto counts = [&](const std::string& by, const std::string& key) {
    const auto document = runner.run("dead list", {{"group-by", {by}}}).document;
    CHECK(document.at("total") == 7);
    CHECK(document.at("dead_letters").empty());
    std::string out;
    for (const auto& group : document.at("groups")) {
      CHECK(group.size() == 8);  // the key, the number, the first and the newest time, the last day, a note
      out += group.at(key).get<std::string>() + " " + std::to_string(group.at("dead").get<int>()) + ", ";
    }
    return out;
  };
  CHECK(counts("error", "error_class") == "validation 5, timeout.read 2, ");
  CHECK(counts("type", "event_type") == "OrderPlaced 4, Refunded 3, ");
  CHECK(counts("handler", "handler") == "audit 3, ledger 2, receipt 2, ");
  const auto first = runner.run("dead list", {{"group-by", {"handler"}}, {"limit", {"1"}}}).document;
  CHECK(first.at("groups").size() == 1);
  CHECK(first.at("total") == 7);
  CHECK(runner.run("dead list", {{"group-by", {"topic"}}}).message ==
        "dead list: --group-by takes error, type or handler");
  CHECK(runner.run("dead list").document.at("groups").size() == 3);
}
