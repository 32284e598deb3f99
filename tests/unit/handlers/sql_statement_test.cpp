#include "handlers/sql/sql_statement.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <inboxd/handler.hpp>

using namespace sql_handler;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a statement that does not mention the events is refused") {
  CHECK_THROWS_AS(from_statement("insert into receipt values (1)"), inboxd::SettingsError);
  CHECK_THROWS_AS(from_statement("select * from all_events_of_mine"), inboxd::SettingsError);
  CHECK(from_statement("insert into receipt select event_id from Events").setting == "statement");
  CHECK_NOTHROW(from_statement("select f(events.body) from events;"));
}

TEST_CASE("a function is called for each event with a row of the message's columns, in order") {
  const Statement statement = from_function("billing.on_order");
  CHECK_THAT(statement.text, ContainsSubstring("select billing.on_order(row(event_id, source_id, topic, partition, "
                                               "\"offset\", event_type, source, subject, key, payload, body, headers, "
                                               "occurred_at, received_at, attempt, key_bytes)) from events"));
  CHECK_NOTHROW(from_function("\"Odd \"\" schema\".\"on.order\""));
}

TEST_CASE("JSON is required for functions and for statements that mention body") {
  CHECK(from_statement("insert into t select body->>'a' from events").requires_json);
  CHECK(from_statement("insert into t select e.BODY from events e").requires_json);
  CHECK_FALSE(from_statement("insert into t select event_id, payload from events").requires_json);
  CHECK_FALSE(from_statement("insert into t (body_text) select source_id from events").requires_json);
  CHECK(from_function("billing.on_order").requires_json);
}

TEST_CASE("a function's name is refused unless it is schema.name") {
  for (const char* const name : {"", "on_order", "billing.", ".on_order", "billing.on_order()", "a.b.c", "billing.1st",
                                 "\"open.on_order", "billing.\"\"", "billing.on_order(m); drop table x; --"}) {
    INFO(name);
    CHECK_THROWS_AS(from_function(name), inboxd::SettingsError);
  }
}

TEST_CASE("a server's position becomes line and column, in characters") {
  const std::string text = "insert into größe\nselect naïve, wrng\nfrom events";
  const auto place = place_of(text, 33);
  REQUIRE(place);
  CHECK(place->line == 2);
  CHECK(place->column == 15);
  CHECK(place->rest == "wrng");
  CHECK(place_of(text, 1)->column == 1);
  CHECK(place_of(text, 19)->line == 2);
  CHECK(place_of(text, 19)->column == 1);
  CHECK_FALSE(place_of(text, 0));
  CHECK_FALSE(place_of(text, 1000));
}
