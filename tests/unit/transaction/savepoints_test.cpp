#include "transaction/savepoints.hpp"

#include <catch2/catch_test_macros.hpp>

using inboxd::transaction::Savepoints;
using Texts = std::vector<std::string>;

TEST_CASE("a savepoint without a statement is never sent") {
  Savepoints points;
  points.begin_call(false, false);
  const auto inner = points.set(false);
  points.release(inner, false);
  CHECK(points.undo_call());
  CHECK(points.take_new().empty());
  CHECK(points.take_pending().empty());
}

TEST_CASE("a call's writes stay when the next call begins, unless the call is undone") {
  Savepoints points;
  points.begin_call(false, false);
  CHECK(points.take_new() == Texts{"savepoint s1"});
  points.begin_call(false, false);
  CHECK(points.take_pending() == Texts{"release savepoint s1"});
  CHECK(points.take_new() == Texts{"savepoint s2"});
  CHECK(points.undo_call());
  CHECK(points.take_pending() == Texts{"rollback to savepoint s2", "release savepoint s2"});
}

TEST_CASE("a call alone in its transaction has no savepoint; undoing it rolls the transaction back") {
  Savepoints points;
  points.begin_call(true, false);
  CHECK(points.take_new().empty());
  CHECK_FALSE(points.undo_call());
  points.reset("rollback");
  CHECK(points.take_pending() == Texts{"rollback"});
}

TEST_CASE("a handler can release only savepoints of its call, each with all later savepoints") {
  Savepoints points;
  points.begin_call(false, false);
  const auto first = points.set(false);
  const auto second = points.set(false);
  CHECK(points.take_new() == Texts{"savepoint s1", "savepoint s2", "savepoint s3"});
  CHECK_FALSE(points.is_handlers(1));
  CHECK(points.is_handlers(first));
  points.release(first, false);
  CHECK(points.take_pending() == Texts{"release savepoint s2"});
  CHECK_FALSE(points.roll_back_to(second));
  CHECK(points.take_pending().empty());
}

TEST_CASE("savepoints that a handler left open are released at the end of the call; the call's own stays") {
  Savepoints points;
  points.begin_call(false, false);
  points.set(false);
  points.set(false);
  points.take_new();
  points.release_handlers();
  CHECK(points.take_pending() == Texts{"release savepoint s2"});
  CHECK(points.undo_call());
  CHECK(points.take_pending() == Texts{"rollback to savepoint s1", "release savepoint s1"});
}

TEST_CASE("rolling back undoes a failure after the savepoint, but not a failure before it") {
  Savepoints points;
  points.begin_call(false, false);
  const auto before = points.set(false);
  const auto behind = points.set(true);
  CHECK_FALSE(points.roll_back_to(behind));
  CHECK(points.roll_back_to(before));
}

TEST_CASE("in a failed transaction no RELEASE is sent, because the server would reject it") {
  Savepoints points;
  points.begin_call(false, false);
  const auto inner = points.set(false);
  points.take_new();
  points.release(inner, true);
  CHECK(points.take_pending().empty());
}
