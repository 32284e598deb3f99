// How long something has been as it is.
#include "history/stretch.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::history;

namespace {

constexpr std::int64_t end = 1'700'006'400;

View minutes(std::size_t steps) {
  View view;
  view.step = 60;
  view.end = end;
  view.steps = steps;
  return view;
}

Track handler(const Values& failures, const Values& successes) {
  Track track;
  track.fields.resize(handler_fields.size(), Values(failures.size(), unknown));
  track.fields[failed] = failures;
  track.fields[done] = successes;
  return track;
}

}  // namespace

TEST_CASE("a handler has failed since the first step of those in a row in which half of its calls failed") {
  const Track track = handler({0.5, 0, 0.5, 0.25, 0.5, unknown}, {0, 1, 0.5, 0, 0, unknown});
  const auto found = failing_stretch(minutes(6), track);
  REQUIRE(found);
  CHECK(found->since == end - 240);
  CHECK(found->seconds == 180);
  CHECK(found->failed == 75);
  CHECK(found->done == 30);
}

TEST_CASE("a step without a call does not end a stretch of failures, nor begin it") {
  const auto found = failing_stretch(minutes(5), handler({0, 0, 1, 0, 1}, {1, 0, 0, 0, 0}));
  REQUIRE(found);
  CHECK(found->since == end - 180);
  CHECK(found->failed == 120);
}

TEST_CASE("a handler that succeeds, or is not known any more, does not fail") {
  CHECK_FALSE(failing_stretch(minutes(3), handler({1, 1, 0}, {0, 0, 1})));
  CHECK_FALSE(failing_stretch(minutes(3), handler({0, 0, 0}, {0, 0, 0})));
  CHECK_FALSE(failing_stretch(minutes(8), handler({1, 1, unknown, unknown, unknown, unknown, unknown, unknown},
                                                  {0, 0, unknown, unknown, unknown, unknown, unknown, unknown})));
}

TEST_CASE("a figure grows since its last low") {
  CHECK(growing_since(minutes(6), {50, 5, 5, 20, 40, 90}) == end - 180);
  CHECK(growing_since(minutes(6), {unknown, unknown, 5, 20, 40, unknown}) == end - 180);
  CHECK_FALSE(growing_since(minutes(6), {50, 40, 30, 20, 10, 5}));
  CHECK_FALSE(growing_since(minutes(4), {7, 7, 7, 7}));
  CHECK_FALSE(growing_since(minutes(2), {unknown, unknown}));
}
