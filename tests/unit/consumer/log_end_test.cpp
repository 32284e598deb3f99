// For which partitions the brokers are asked where they end, and what is made of the answer.
#include "consumer/log_end.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

const LogEnd::Clock::time_point assigned_at{1h};

/// A partition that was fetched up to 100 when it was assigned.
LogEnd fetched_once() {
  LogEnd out;
  out.right_at = assigned_at;
  out.note_fetch(100, true, assigned_at);
  return out;
}

/// The same, not fetched since, and asked for ten seconds later.
LogEnd asked_for() {
  LogEnd out = fetched_once();
  out.asked_at = assigned_at + 10s;
  return out;
}

}  // namespace

TEST_CASE("nothing is asked for a partition that is fetched, however quiet it is") {
  LogEnd end = fetched_once();
  for (auto after = 1s; after < 100s; ++after) {
    end.note_fetch(100, true, assigned_at + after);
    CHECK_FALSE(end.is_due(assigned_at + after));
  }
}

TEST_CASE("a partition that is not fetched is asked for when ten seconds have gone by, and as often again") {
  LogEnd end = fetched_once();
  end.note_fetch(100, false, assigned_at + 9s);  // what the library goes on saying
  CHECK_FALSE(end.is_due(assigned_at + 9s));
  CHECK(end.is_due(assigned_at + 10s));
  end.asked_at = assigned_at + 10s;  // and no answer
  CHECK_FALSE(end.is_due(assigned_at + 19s));
  CHECK(end.is_due(assigned_at + 20s));
}

TEST_CASE("a partition whose full queue still lets a fetch through now and then is not asked for") {
  LogEnd end = fetched_once();
  end.note_fetch(130, false, assigned_at + 9s);
  CHECK(end.high == 130);
  CHECK_FALSE(end.is_due(assigned_at + 18s));
}

TEST_CASE("a partition that was never fetched is asked for, though not before it had time to be") {
  LogEnd end;
  end.right_at = assigned_at;
  end.note_fetch(-1001, false, assigned_at + 1s);
  CHECK(end.high == -1);
  CHECK_FALSE(end.is_due(assigned_at + 9s));
  CHECK(end.is_due(assigned_at + 10s));
}

TEST_CASE("what the brokers answered stands until a fetch tells something else") {
  LogEnd end = asked_for();
  end.note_answer(200);
  CHECK(end.high == 200);
  end.note_fetch(100, false, assigned_at + 11s);
  end.note_fetch(100, true, assigned_at + 12s);  // read again, and not answered yet
  CHECK(end.high == 200);
  end.note_fetch(205, true, assigned_at + 13s);
  CHECK(end.high == 205);
}

TEST_CASE("an answer from before a fetch, or before the partition was assigned anew, is dropped") {
  LogEnd end = asked_for();
  end.note_fetch(205, true, assigned_at + 11s);
  end.note_answer(200);
  CHECK(end.high == 205);
  LogEnd anew;
  anew.right_at = assigned_at + 11s;
  anew.note_answer(200);
  CHECK(anew.high == -1);
}

}  // namespace inboxd::consumer
