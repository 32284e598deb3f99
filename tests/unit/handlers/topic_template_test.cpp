#include "handlers/kafka/topic_template.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace kafka_handler;
using Catch::Matchers::ContainsSubstring;

namespace {

inboxd_event order_event() {
  inboxd_event out{};
  out.struct_size = sizeof out;
  out.event_type = inboxd_text("OrderPlaced");
  out.key = inboxd_text("k7");
  out.topic = inboxd_text("orders");
  out.partition = 3;
  out.event_id[15] = 1;
  return out;
}

std::string name_of(const std::string& text, const inboxd_event& event) {
  const auto name = TopicTemplate{text}.of(inboxd::Event{nullptr, 0, &event});
  return name.problem.empty() ? name.text : "problem: " + name.problem;
}

}  // namespace

TEST_CASE("placeholders in a topic's name stand for parts of the event") {
  const auto event = order_event();
  CHECK(name_of("receipts", event) == "receipts");
  CHECK(name_of("{topic}.{type}-{partition}_{key}", event) == "orders.OrderPlaced-3_k7");
  CHECK(name_of("by-{event_id}", event) == "by-00000000-0000-0000-0000-000000000001");
}

TEST_CASE("an event may have no valid topic") {
  auto event = order_event();
  event.event_type = inboxd_text("com/acme");
  CHECK_THAT(name_of("a.{type}", event), ContainsSubstring("problem: a topic's name has only letters"));
  event.event_type = inboxd_text("");
  CHECK_THAT(name_of("{type}", event), ContainsSubstring("problem: a topic's name is empty"));
  event.event_type = inboxd_text("..");
  CHECK_THAT(name_of("{type}", event), ContainsSubstring("problem: '..' is no name"));
  const std::string long_type(250, 'x');
  event.event_type = inboxd_text(long_type.c_str());
  CHECK_THAT(name_of("{type}", event), ContainsSubstring("at most 249"));
  event.key = inboxd_text(nullptr);
  CHECK_THAT(name_of("{key}", event), ContainsSubstring("problem: the event has no key"));
}

TEST_CASE("a topic's name that no event could make valid is refused") {
  for (const char* const wrong : {"", "a b", "{name}", "{topic", "a.{}", "..", "a/{type}"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(TopicTemplate{wrong}, inboxd::SettingsError);
  }
}

TEST_CASE("a topic that is not allowed is a problem of the event; without a list, an event may choose any") {
  auto event = order_event();
  const TopicTemplate limited{"{type}", {"orders", "Order*"}};
  CHECK(limited.of(inboxd::Event{nullptr, 0, &event}).problem.empty());
  event.event_type = inboxd_text("__consumer_offsets");
  const auto refused = limited.of(inboxd::Event{nullptr, 0, &event});
  CHECK_THAT(refused.problem, ContainsSubstring("'__consumer_offsets' is not in setting 'topics_allowed'"));
  CHECK_FALSE(refused.is_allowed);
  CHECK_FALSE(limited.is_open());
  CHECK(TopicTemplate{"{type}"}.is_open());
  CHECK(TopicTemplate{"{key}.x"}.is_open());
  CHECK_FALSE(TopicTemplate{"{topic}.copy"}.is_open());
  CHECK_FALSE(TopicTemplate{"out.{type}"}.is_open());
  CHECK_THROWS_AS((TopicTemplate{"orders", {"billing.*"}}), inboxd::SettingsError);
}
