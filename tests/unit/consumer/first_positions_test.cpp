// The first position of a partition that the database does not know.
#include "consumer/first_positions.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::consumer {
namespace {

using Kind = config::StartAt::Kind;
constexpr kafka::LogBounds from_10_to_100{10, 100};

/// In a log from 10 to 100.
FirstOffset begin(Kind start, std::int64_t wanted, std::optional<std::int64_t> group_offset) {
  return first_offset_for(start, from_10_to_100, wanted, group_offset);
}

}  // namespace

TEST_CASE("without a committed offset a partition starts as configured") {
  CHECK(begin(Kind::beginning, 10, std::nullopt).offset == 10);
  CHECK(begin(Kind::end, 100, std::nullopt).offset == 100);
  CHECK(begin(Kind::time, 42, std::nullopt).offset == 42);
  CHECK(begin(Kind::committed, 10, std::nullopt).offset == 10);
  for (const Kind kind : {Kind::beginning, Kind::end, Kind::time, Kind::committed}) {
    CHECK_FALSE(begin(kind, 10, std::nullopt).was_read_before);
  }
}

TEST_CASE("with `end` or a time, reading never starts after the committed offset") {
  CHECK(begin(Kind::end, 100, 60).offset == 60);
  CHECK(begin(Kind::end, 100, 60).was_read_before);
  CHECK(begin(Kind::end, 100, 100).offset == 100);
  CHECK(begin(Kind::end, 100, 100).was_read_before);
  CHECK(begin(Kind::time, 80, 60).offset == 60);
  CHECK(begin(Kind::time, 80, 60).was_read_before);
  // Records since that time are wanted, even if they were read before.
  CHECK(begin(Kind::time, 42, 60).offset == 42);
  CHECK_FALSE(begin(Kind::time, 42, 60).was_read_before);
  CHECK_FALSE(begin(Kind::end, 100, 10).was_read_before);  // the group had read nothing
  CHECK(begin(Kind::end, 100, 10).offset == 10);
}

TEST_CASE("a committed offset that is not in the log any more means the log's beginning") {
  for (const std::int64_t gone : {0, 9, 101, 5000}) {
    CHECK(begin(Kind::end, 100, gone).offset == 10);
    CHECK(begin(Kind::end, 100, gone).was_read_before);
    CHECK(begin(Kind::time, 42, gone).offset == 10);
  }
}

TEST_CASE("`beginning` ignores the committed offset, and `committed` uses it as it is") {
  CHECK(begin(Kind::beginning, 10, 60).offset == 10);
  CHECK(begin(Kind::committed, 10, 60).offset == 60);
  CHECK_FALSE(begin(Kind::beginning, 10, 60).was_read_before);
  CHECK_FALSE(begin(Kind::committed, 10, 60).was_read_before);
}

TEST_CASE("a partition postponed at the first start includes records that producers had to hold back") {
  constexpr event::Microseconds first_start = 1'700'000'000'000'000;
  constexpr event::Microseconds held_back = 120'000'000;  // a producer's default
  const auto postponed = start_for_postponed({Kind::end, 0}, first_start);
  CHECK(postponed.kind == Kind::time);
  CHECK(postponed.time_us < first_start - held_back);
  CHECK(postponed.time_us > first_start - 3'600'000'000);
  CHECK(start_for_postponed({Kind::beginning, 0}, first_start).kind == Kind::beginning);
  CHECK(start_for_postponed({Kind::time, 42}, first_start).time_us == 42);
  CHECK(start_for_postponed({Kind::end, 0}, std::nullopt).kind == Kind::end);
}

}  // namespace inboxd::consumer
