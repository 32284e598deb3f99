#include "inbox/savepoints.hpp"

#include <catch2/catch_test_macros.hpp>

using inboxd::inbox::Savepoints;
using Texts = std::vector<std::string>;

TEST_CASE("a savepoint that nothing was run in is never sent") {
  Savepoints points;
  points.begin_call(false, false);
  const auto inner = points.set(false);
  points.release(inner, false);
  CHECK(points.undo_call());
  CHECK(points.take_new().empty());
  CHECK(points.take_pending().empty());
}

TEST_CASE("what a call wrote stays when the next begins, and is undone where it is said so") {
  Savepoints points;
  points.begin_call(false, false);
  CHECK(points.take_new() == Texts{"savepoint s1"});
  points.begin_call(false, false);
  CHECK(points.take_pending() == Texts{"release savepoint s1"});
  CHECK(points.take_new() == Texts{"savepoint s2"});
  CHECK(points.undo_call());
  CHECK(points.take_pending() == Texts{"rollback to savepoint s2", "release savepoint s2"});
}

TEST_CASE("a call alone in its transaction has no savepoint: all of it is rolled back") {
  Savepoints points;
  points.begin_call(true, false);
  CHECK(points.take_new().empty());
  CHECK_FALSE(points.undo_call());
  points.forget("rollback");
  CHECK(points.take_pending() == Texts{"rollback"});
}

TEST_CASE("a handler names no savepoint from before its call, and releases with one all that came after it") {
  Savepoints points;
  points.begin_call(false, false);
  const auto first = points.set(false);
  const auto second = points.set(false);
  CHECK(points.take_new() == Texts{"savepoint s1", "savepoint s2", "savepoint s3"});
  CHECK_FALSE(points.is_handlers(1));
  CHECK(points.is_handlers(first));
  points.release(first, false);
  CHECK(points.take_pending() == Texts{"release savepoint s2"});
  CHECK_FALSE(points.undo(second));
  CHECK(points.take_pending().empty());
}

TEST_CASE("what a handler left open is released at the end of its call, whose own savepoint stays") {
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

TEST_CASE("rolling back undoes a failure that came after the savepoint, not one from before it") {
  Savepoints points;
  points.begin_call(false, false);
  const auto before = points.set(false);
  const auto behind = points.set(true);
  CHECK_FALSE(points.undo(behind));
  CHECK(points.undo(before));
}

TEST_CASE("in a transaction that has failed nothing is released, since the server would refuse it") {
  Savepoints points;
  points.begin_call(false, false);
  const auto inner = points.set(false);
  points.take_new();
  points.release(inner, true);
  CHECK(points.take_pending().empty());
}
