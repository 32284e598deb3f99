// Where a partition begins of which the database knows nothing.
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

TEST_CASE("without an offset of the group a partition begins where its start says") {
  CHECK(begin(Kind::beginning, 10, std::nullopt).offset == 10);
  CHECK(begin(Kind::end, 100, std::nullopt).offset == 100);
  CHECK(begin(Kind::time, 42, std::nullopt).offset == 42);
  CHECK(begin(Kind::committed, 10, std::nullopt).offset == 10);
  for (const Kind kind : {Kind::beginning, Kind::end, Kind::time, Kind::committed}) {
    CHECK_FALSE(begin(kind, 10, std::nullopt).was_read_before);
  }
}

TEST_CASE("neither the end nor a time passes over what the group has not read") {
  CHECK(begin(Kind::end, 100, 60).offset == 60);
  CHECK(begin(Kind::end, 100, 60).was_read_before);
  CHECK(begin(Kind::end, 100, 100).offset == 100);
  CHECK(begin(Kind::end, 100, 100).was_read_before);
  CHECK(begin(Kind::time, 80, 60).offset == 60);
  CHECK(begin(Kind::time, 80, 60).was_read_before);
  // What came since that time is wanted, whoever has read it.
  CHECK(begin(Kind::time, 42, 60).offset == 42);
  CHECK_FALSE(begin(Kind::time, 42, 60).was_read_before);
  CHECK_FALSE(begin(Kind::end, 100, 10).was_read_before);  // it had read nothing
  CHECK(begin(Kind::end, 100, 10).offset == 10);
}

TEST_CASE("an offset of the group that is not in the log any more means the log's beginning") {
  for (const std::int64_t gone : {0, 9, 101, 5000}) {
    CHECK(begin(Kind::end, 100, gone).offset == 10);
    CHECK(begin(Kind::end, 100, gone).was_read_before);
    CHECK(begin(Kind::time, 42, gone).offset == 10);
  }
}

TEST_CASE("the beginning and the group's own offset need nobody else's say") {
  CHECK(begin(Kind::beginning, 10, 60).offset == 10);
  CHECK(begin(Kind::committed, 10, 60).offset == 60);
  CHECK_FALSE(begin(Kind::beginning, 10, 60).was_read_before);
  CHECK_FALSE(begin(Kind::committed, 10, 60).was_read_before);
}

TEST_CASE("a partition put off at the first start begins early enough for what producers could not send meanwhile") {
  constexpr event::Microseconds first_start = 1'700'000'000'000'000;
  constexpr event::Microseconds held_back = 120'000'000;  // as long as a producer tries, unless it is told otherwise
  const auto put_off = start_of_put_off({Kind::end, 0}, first_start);
  CHECK(put_off.kind == Kind::time);
  CHECK(put_off.time_us < first_start - held_back);
  CHECK(put_off.time_us > first_start - 3'600'000'000);
  CHECK(start_of_put_off({Kind::beginning, 0}, first_start).kind == Kind::beginning);
  CHECK(start_of_put_off({Kind::time, 42}, first_start).time_us == 42);
  CHECK(start_of_put_off({Kind::end, 0}, std::nullopt).kind == Kind::end);
}

}  // namespace inboxd::consumer
