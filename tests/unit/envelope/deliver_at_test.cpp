#include "event/now.hpp"
#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;

namespace {

constexpr event::Microseconds second = 1'000'000;
/// Of `record()`: 2023-11-14T22:13:20Z.
constexpr event::Microseconds record_at = 1'700'000'000 * second;

TopicRules rules_at(std::string place) {
  TopicRules out = rules();
  out.topic.deliver_at = std::move(place);
  return out;
}

event::Record with_time(event::MaybeBytes time) {
  return with_headers({{"id", "00000000-0000-4000-8000-000000000001"}, {"due", time}});
}

std::optional<event::Microseconds> deliver_at(event::MaybeBytes time) {
  return Outcome{with_time(time), rules_at("header:due")}.event().deliver_at;
}

}  // namespace

TEST_CASE("deliver_at is read from a header or the value, as RFC 3339 or as a number since 1970") {
  CHECK(deliver_at("2023-11-14T22:14:20Z") == record_at + 60 * second);
  CHECK(deliver_at("1700000060000") == record_at + 60 * second);
  CHECK(deliver_at("1700000060") == record_at + 60 * second);
  CHECK(deliver_at("1999-12-31T00:00:00Z").has_value());
  const Headers id{{"id", "00000000-0000-4000-8000-000000000001"}};
  for (const char* const value : {R"({"at": 1700000060000})", R"({"at": "2023-11-14T22:14:20Z"})"}) {
    CHECK(Outcome{with_headers(id, value), rules_at("json:/at")}.event().deliver_at == record_at + 60 * second);
  }
}

TEST_CASE("an event without a value at deliver_at is delivered at once") {
  CHECK_FALSE(deliver_at(std::nullopt));
  for (const event::MaybeBytes value : {event::MaybeBytes{}, event::MaybeBytes{"no JSON"}, event::MaybeBytes{"{}"},
                                        event::MaybeBytes{R"({"at": null})"}}) {
    const event::Record record = with_headers({{"id", "00000000-0000-4000-8000-000000000001"}}, value);
    CHECK_FALSE(Outcome{record, rules_at("json:/at")}.event().deliver_at);
    CHECK_FALSE(Outcome{record, rules_at("header:due")}.event().deliver_at);
    CHECK_FALSE(Outcome{record}.event().deliver_at);
  }
}

TEST_CASE("a value at deliver_at that is no time, or beyond the limit, goes to quarantine") {
  for (const event::MaybeBytes time : {""sv, "tomorrow"sv, "2023-13-14T22:14:20Z"sv}) {
    CHECK(Outcome{with_time(time), rules_at("header:due")}.rejection() ==
          "undecodable: deliver_at: the value at header:due is no time");
  }
  const Headers id{{"id", "00000000-0000-4000-8000-000000000001"}};
  CHECK(Outcome{with_headers(id, R"({"at": {}})"), rules_at("json:/at")}.reason() == "undecodable");
  TopicRules by = rules_at("header:due");
  by.topic.deliver_at_limit = std::chrono::seconds{60};
  CHECK(Outcome{with_time("2023-11-14T22:14:20Z"), by}.is_event());
  CHECK(Outcome{with_time("2023-11-14T22:14:20.000001Z"), by}.rejection() ==
        "undecodable: deliver_at: the value at header:due is further ahead than the topic's deliver_at_limit");
}

TEST_CASE("a record timestamp in the future does not raise the limit of deliver_at") {
  TopicRules by = rules_at("header:due");
  by.topic.deliver_at_limit = std::chrono::seconds{60};
  event::Record record = with_time("2200-01-01T00:00:00Z");
  record.timestamp = event::now() + 200LL * 365 * 86'400 * second;
  CHECK(Outcome{record, by}.reason() == "undecodable");
}
