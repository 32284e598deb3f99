// From counts since the start to figures of the last minutes.
#include "daemon/activity_sampler.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::daemon;
using std::chrono::seconds;

TEST_CASE("figures cover the last three minutes, growth the last minute") {
  ActivitySampler sampler;
  const ActivitySampler::Clock::time_point start{};
  ActivitySample sample;
  sample.pending = 0;
  for (int second = 0; second <= 300; second += 5) {
    sample.outcomes.done = static_cast<std::uint64_t>(4 * second);
    sample.pending = 16 * second;
    const auto activity = sampler.sample(7, sample, start + seconds{second});
    CHECK(activity.handler_id == 7);
    if (second == 0) CHECK(activity.span.count() == 0);
    if (second < 15) CHECK(activity.grown == 0);
    if (second >= 15) CHECK(activity.grown == 16 * 60);
    if (second == 300) {
      CHECK(activity.span == seconds{180});
      CHECK(activity.done == 4 * 180);
    }
  }
}

TEST_CASE("an uncounted backlog has no growth") {
  ActivitySampler sampler;
  const ActivitySampler::Clock::time_point start{};
  ActivitySample sample;
  sampler.sample(7, sample, start);
  sample.pending = 500;
  CHECK(sampler.sample(7, sample, start + seconds{30}).grown == 0);
}

TEST_CASE("failures in a row and a service that is away are passed on with their ages") {
  ActivitySampler sampler;
  const auto start = ActivitySampler::Clock::now();
  ActivitySample sample;
  sample.outcomes.failed_in_row = 3;
  sample.outcomes.failing_since = start - seconds{9};
  sample.outcomes.last_error_class = "http.500";
  sample.outcomes.last_failed_event = "0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f";
  sample.stats.away = true;
  sample.stats.away_for = seconds{2};
  sample.stats.away_error = "refused";
  const auto activity = sampler.sample(7, sample, start);
  CHECK(activity.failed_in_row == 3);
  CHECK(activity.failing_for == seconds{9});
  CHECK(activity.last_error_class == "http.500");
  CHECK(activity.last_failed_event == "0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f");
  CHECK(activity.away_for == seconds{2});
  CHECK(activity.away_error == "refused");
}
