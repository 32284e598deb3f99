#include "handlers/sql/mistake.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace sql_handler;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

/// The server's position of `part` in the text, from 1.
std::uint32_t position_of(std::string_view text, std::string_view part) {
  return static_cast<std::uint32_t>(text.find(part)) + 1;
}

std::string sentence(const char* sqlstate, const std::string& text, std::uint32_t position) {
  inboxd_sql_error error{};
  error.sqlstate = inboxd_text(sqlstate);
  error.message = inboxd_text("refused");
  error.position = position;
  return sentence_of(Failure{error}, from_statement(text));
}

}  // namespace

TEST_CASE("a mistake in a statement is reported with line, column and the text there") {
  inboxd_sql_error error{};
  error.sqlstate = inboxd_text("42703");
  error.message = inboxd_text("column \"ordr\" does not exist");
  error.hint = inboxd_text("Perhaps you meant to reference the column \"events.offset\".");
  error.position = 34;
  const Statement statement = from_statement("insert into receipt\nselect body, ordr from events");
  CHECK(
      sentence_of(Failure{error}, statement) ==
      "setting 'statement', line 2, column 14 at 'ordr from events': column \"ordr\" does not exist (SQLSTATE 42703); "
      "Perhaps you meant to reference the column \"events.offset\".");
  CHECK_THAT(sentence_of(Failure{error}, from_function("billing.on_order")),
             ContainsSubstring("create function billing.on_order(event inbox.message)"));
}

TEST_CASE("a JSON operator or a cast on payload is answered with: use body") {
  const auto remedy = [](const char* sqlstate, const std::string& text, std::string_view at) {
    return sentence(sqlstate, text, position_of(text, at));
  };
  CHECK_THAT(remedy("42883", "insert into t select payload->>'order id', 1 from events", "->>"),
             EndsWith("; payload is bytea; use body->>'order id'"));
  CHECK_THAT(remedy("42883", "select e.payload -> 'a' ->> 'b' from events e", "->"), EndsWith("use body-> 'a'"));
  CHECK_THAT(remedy("42883", "select 1 from events where \"payload\" @> '{}'", "@>"), EndsWith("use body@> '{}'"));
  CHECK_THAT(remedy("42846", "select payload::jsonb->>'a' from events", "::"), ContainsSubstring("use body"));
  CHECK_THAT(remedy("42846", "select cast(payload as jsonb) from events", "cast"), ContainsSubstring("use body"));
  CHECK_THAT(remedy("42883", "select my_payload->>'a' from events", "->>"), !ContainsSubstring("use body"));
  CHECK_THAT(remedy("42883", "select payload + 1 from events", "+"), !ContainsSubstring("use body"));
  CHECK_THAT(remedy("42601", "select payload->>'a' from events", "->>"), !ContainsSubstring("use body"));
}

TEST_CASE("a second statement is reported with its place and the remedy") {
  const std::string two = "insert into a select 'x;y' from events; -- the other\ninsert into b select 1 from events";
  CHECK_THAT(sentence("42601", two, 0),
             ContainsSubstring("second statement in line 2, column 1") && ContainsSubstring("function: schema.name"));
  CHECK_THAT(sentence("42601", two, 5), !ContainsSubstring("second statement"));
  CHECK_THAT(sentence("0A000", two, 0), !ContainsSubstring("second statement"));
}

TEST_CASE("semicolons in quotes, in comments or at the end do not begin a second statement") {
  for (const char* const one :
       {"select 1 from events", "select 1 from events;", ";; select 1 ; ; -- done", "select ';', \";\", $$;$$, $a$;$a$",
        "select 'it''s;' /* ; /* ; */ ; */ ; /* end */", "select E'\\';' from events", "select a$b, 1 from t$", ""}) {
    INFO(one);
    CHECK_FALSE(second_statement(one));
  }
  CHECK(second_statement("select 1; select 2") == 10);
  CHECK(second_statement("select 'a' ;;\nselect 2") == 14);
  CHECK(second_statement("select $$a$$;b") == 13);
  CHECK(second_statement("select '") == std::nullopt);
  CHECK(second_statement("/* never closed") == std::nullopt);
}
