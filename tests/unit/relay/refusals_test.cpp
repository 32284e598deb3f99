#include "relay/refusals.hpp"

#include <catch2/catch_test_macros.hpp>

using inboxd::relay::Refusals;
using namespace std::chrono_literals;

namespace {

const Refusals::Clock::time_point start{};

}  // namespace

TEST_CASE("batches become smaller if each message of a refused batch was accepted alone, for an hour") {
  Refusals refusals;
  CHECK(refusals.batch_bytes(start) == 0);
  refusals.note_batch({1, 2}, 100'000);
  refusals.note_sent(1);
  CHECK_FALSE(refusals.make_smaller(start));
  refusals.note_sent(2);
  CHECK(refusals.make_smaller(start));
  CHECK(refusals.batch_bytes(start) == 50'000);
  CHECK_FALSE(refusals.make_smaller(start));
  CHECK(refusals.batch_bytes(start + 1h) == 0);
}

TEST_CASE("batches stay large if a message of the refused batch is refused alone") {
  Refusals refusals;
  refusals.note_batch({1, 2}, 100'000);
  refusals.note_batch({3, 4}, 100'000);
  refusals.note_refused(2);
  refusals.note_sent(1);
  CHECK_FALSE(refusals.make_smaller(start));
  refusals.note_sent(3);
  refusals.note_sent(4);
  CHECK(refusals.make_smaller(start));
}

TEST_CASE("messages as large as a message that was too large are suspect, in its topic and for a minute") {
  Refusals refusals;
  refusals.note_too_large("orders", 5'000, start);
  CHECK(refusals.is_suspect("orders", 5'000, start));
  CHECK_FALSE(refusals.is_suspect("orders", 4'999, start));
  CHECK_FALSE(refusals.is_suspect("others", 5'000, start));
  CHECK_FALSE(refusals.is_suspect("orders", 5'000, start + 60s));
  refusals.note_too_large("orders", 3'000, start + 30s);
  CHECK(refusals.is_suspect("orders", 3'000, start + 80s));
}
