// The last hour of an instance as bytes in a row, which another release or a stranger may have written.
#include "history/packed.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "history/history.hpp"

using namespace inboxd::history;

namespace {

View minutes(std::size_t handlers, unsigned seed) {
  std::mt19937 random{seed};
  View out{minute_step, 28'333'440 * minute_step, max_minutes, {}, {}, 0};
  const auto series = [&] {
    Values values(max_minutes, unknown);
    for (std::size_t i = 5; i < max_minutes; ++i) values[i] = static_cast<float>(random() % 1'000) / 10;
    return values;
  };
  for (std::size_t i = 0; i < topic_fields.size(); ++i) out.topics["orders"].fields.push_back(series());
  for (std::size_t handler = 0; handler < handlers; ++handler) {
    Track& track = out.handlers["handler " + std::to_string(handler)];
    track.allowed = 8;
    for (std::size_t i = 0; i < handler_fields.size(); ++i) track.fields.push_back(series());
    track.failures["sql.22P02"] = series();
  }
  return out;
}

}  // namespace

TEST_CASE("packed minutes come back with an error of 1 % at most, and unknown minutes stay unknown") {
  const View before = minutes(3, 7);
  const auto after = unpack(pack(before));
  REQUIRE(after);
  CHECK(after->end == before.end);
  CHECK(after->steps == max_minutes);
  CHECK(after->handlers.at("handler 2").allowed == 8);
  CHECK(after->handlers.at("handler 2").failures.contains("sql.22P02"));
  const Values& was = before.handlers.at("handler 1").fields[done];
  const Values& is = after->handlers.at("handler 1").fields[done];
  REQUIRE(is.size() == was.size());
  for (std::size_t i = 0; i < was.size(); ++i) {
    CAPTURE(i, was[i], is[i]);
    CHECK(std::isnan(was[i]) == std::isnan(is[i]));
    if (!std::isnan(was[i])) CHECK(std::abs(is[i] - was[i]) <= 0.012F * was[i] + 0.01F);
  }
}

TEST_CASE("small whole numbers are exact") {
  View before = minutes(1, 1);
  Values& values = before.handlers.at("handler 0").fields[dead];
  for (std::size_t i = 0; i < max_minutes; ++i) values[i] = static_cast<float>(i + 30);
  const auto after = unpack(pack(before));
  REQUIRE(after);
  for (std::size_t i = 0; i < max_minutes; ++i) CHECK(after->handlers.at("handler 0").fields[dead][i] == values[i]);
}

TEST_CASE("an hour of five busy handlers fits into a few kB, and of too many the older minutes are left out") {
  CHECK(unpack(pack(minutes(5, 2)))->steps == max_minutes);
  const std::string many = pack(minutes(50, 2));
  CHECK(many.size() <= max_packed_bytes);
  const auto after = unpack(many);
  REQUIRE(after);
  CHECK(after->steps < max_minutes);
  CHECK(after->handlers.size() == 50);
}

TEST_CASE("a summary that is truncated, extended, too large or of another version is ignored") {
  const std::string bytes = pack(minutes(2, 3));
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(unpack(std::string_view{bytes}.substr(0, size)));
  CHECK_FALSE(unpack(bytes + '\0'));
  const auto with_long_names = [](int topics) {
    std::string out{'\1', '\1', '\0', static_cast<char>(topics)};  // minute 1, no steps
    for (int i = 0; i < topics; ++i) out += "\xf4\3" + std::string(500, static_cast<char>('a' + i));
    return out + '\0';
  };
  CHECK(unpack(with_long_names(16)));
  CHECK_FALSE(unpack(with_long_names(17)));
  CHECK_FALSE(unpack("\2" + bytes.substr(1)));
  CHECK_FALSE(unpack(""));
}

TEST_CASE("bytes of a stranger never give more than the limits") {
  const std::string good = pack(minutes(3, 4));
  std::mt19937 random{20261128};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 1 + round % 4; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto found = unpack(bytes);
    if (!found) continue;
    CHECK(found->steps <= max_minutes);
    CHECK(found->handlers.size() <= Ring::max_names);
    for (const auto& [name, track] : found->handlers) {
      REQUIRE(track.fields.size() == handler_fields.size());
      for (const Values& values : track.fields) REQUIRE(values.size() == found->steps);
      for (const auto& [error_class, values] : track.failures) REQUIRE(values.size() == found->steps);
    }
  }
}

TEST_CASE("a run of equal values that is longer than the hour is an error") {
  const auto with_run = [](char more) {
    std::string bytes{"\1\1\74\1\1a"};  // minute 1, 60 steps, topic a
    // Unknown, and so many more.
    for (std::size_t i = 0; i < topic_fields.size(); ++i) bytes += std::string{'\0', more};
    return bytes + '\0';                                                                    // no handler
  };
  CHECK(unpack(with_run(59)));
  CHECK_FALSE(unpack(with_run(60)));
}

TEST_CASE("a minute is made of six steps, and a minute that runs is left out") {
  View hour{hour_step, 1'700'006'430, hour_steps, {}, {}, 0};
  for (std::size_t i = 0; i < topic_fields.size(); ++i) hour.topics["orders"].fields.emplace_back(hour_steps, unknown);
  Values& rates = hour.topics["orders"].fields[in];
  Values& counts = hour.topics["orders"].fields[quarantined];
  for (std::size_t i = hour_steps - 9; i < hour_steps - 3; ++i) {
    rates[i] = i % 2 == 0 ? 10.0F : 20.0F;
    counts[i] = 2;
  }
  for (std::size_t i = hour_steps - 3; i < hour_steps; ++i) rates[i] = counts[i] = 1'000;
  const View out = minutes_of(hour);
  CHECK(out.end == 1'700'006'400);
  CHECK(out.topics.at("orders").fields[in].back() == 15);
  CHECK(out.topics.at("orders").fields[quarantined].back() == 12);
}
