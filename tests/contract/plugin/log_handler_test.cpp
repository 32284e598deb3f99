#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "contract/plugin/support.hpp"

using Catch::Matchers::ContainsSubstring;
using contract::DeliveredEvents;
using contract::handler_of;
using contract::LoadAttempt;

TEST_CASE("the shipped log handler writes a line for each event, without its payload") {
  const contract::StderrCapture taken;
  LoadAttempt attempt{handler_of("log")};
  DeliveredEvents batch{{"order 1", "forged\nline \"quoted\" \x1b[31m"}};
  batch.event(0).payload = "a secret";
  batch.delivered(0).attempt = 2;
  batch.event(1).event_type = "Order Placed";
  for (const auto& verdict : batch.handled_by(attempt.instance())) CHECK(verdict.kind == contract::Kind::done);
  const std::string text = taken.text();
  CHECK_THAT(text, ContainsSubstring("info handler: event event_id=00000000-0000-0000-0000-000000000000"
                                     " type=\"OrderPlaced\" at=orders/3/100 attempt=2 key=\"order 1\""
                                     " handler=under-test kind=handler.log\n"));
  CHECK_THAT(text, ContainsSubstring(
                       "type=\"Order Placed\" at=orders/3/101 attempt=1"
                       " key=\"forged\\x0aline \\\"quoted\\\" \\x1b[31m\" handler=under-test kind=handler.log\n"));
  CHECK_THAT(text, !ContainsSubstring("secret"));
}

TEST_CASE("the log handler shows a null key as null and shortens a long key") {
  const contract::StderrCapture taken;
  LoadAttempt attempt{handler_of("log", {{"level", "warn"}})};
  DeliveredEvents batch{{"", std::string(1000, 'k')}};
  batch.event(0).key = std::nullopt;
  batch.handled_by(attempt.instance());
  CHECK_THAT(taken.text(), ContainsSubstring("key=null handler=") && ContainsSubstring(" warning handler: event") &&
                               ContainsSubstring("key=\"" + std::string(128, 'k') + "\"... handler="));
}

TEST_CASE("the log handler refuses unknown levels and settings") {
  CHECK_THAT((LoadAttempt{handler_of("log", {{"level", "loud"}})}.problem()),
             ContainsSubstring("setting 'level' is 'loud'; it must be debug, info, warn or error"));
  CHECK_THAT((LoadAttempt{handler_of("log", {{"levle", "info"}})}.problem()),
             ContainsSubstring("unknown setting 'levle'; this plugin knows: level"));
}

TEST_CASE("a misspelt required setting is named, not only missed") {
  CHECK_THAT((LoadAttempt{handler_of("http", {{"ulr", "http://x/"}})}.problem()),
             ContainsSubstring("unknown setting 'ulr'; this plugin knows: url, style, "));
  CHECK_THAT((LoadAttempt{handler_of("kafka", {{"topci", "copies"}})}.problem()),
             ContainsSubstring("unknown setting 'topci'; this plugin knows: topic, "));
  CHECK_THAT((LoadAttempt{handler_of("exec", {{"comand", "[true]"}})}.problem()),
             ContainsSubstring("unknown setting 'comand'; this plugin knows: command, "));
}

TEST_CASE("an unknown plugin name is refused with the known names") {
  CHECK_THAT((LoadAttempt{handler_of("lgo")}.problem()), ContainsSubstring("there is no plugin 'lgo'") &&
                                                             ContainsSubstring("available: exec, http, ") &&
                                                             ContainsSubstring("with a slash: ./lgo.so"));
}
