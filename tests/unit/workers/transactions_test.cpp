// Calls in transactions, on a scripted database.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/workers/transaction_fixture.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using namespace test;
using event::Verdict;
using transaction::CallEnd;
using transaction::CallFrame;
using transaction::CommitEnd;
using Offsets = std::multiset<std::int64_t>;

/// Fails so many times.
auto repeats_times(int times, std::string state) {
  return [times, state](const auto&) mutable { return times-- > 0 ? repeats(state) : CallEnd{}; };
}

}  // namespace

TEST_CASE("as many calls as configured share a transaction, and the rest has its own") {
  Transactions it;
  it.run(25, {.concurrency = 1, .group = 10});
  REQUIRE(it.handled(25));
  CHECK(it.commits == 3);
  CHECK(it.calls == 25);
  CHECK(it.written.size() == 25);
  CHECK(it.base.database.done() == 0);  // not recorded by the settler
  CHECK(it.base.settler.counters().done == 25);
}

TEST_CASE("a call whose settings outlast it is the last of its transaction") {
  Transactions it;
  it.at_end = [](const CallFrame& call) {
    CallEnd end;
    end.leaves_state = has(call, 2) || has(call, 3);
    return end;
  };
  std::vector<std::size_t> sizes;
  it.at_commit = [&](const Offsets& written) {
    sizes.push_back(written.size());
    return CommitEnd{};
  };
  it.run(8, {.concurrency = 1, .group = 50});
  REQUIRE(it.handled(8));
  CHECK(it.read([&](const auto&) { return sizes; }) == std::vector<std::size_t>{3, 1, 4});
}

TEST_CASE("the writes of a failed event are undone, and its failure is recorded with the others") {
  Transactions it;
  it.run(10, {.concurrency = 1, .group = 10},
         [](std::int64_t offset) { return offset == 4 ? dead("sql.23505") : Verdict{}; });
  REQUIRE(it.handled(9));
  CHECK(it.commits == 1);
  CHECK(it.written.count(4) == 0);
  CHECK(it.settled.at(0).dead.size() == 1);
}

TEST_CASE("calls get savepoints only after one had to be undone; the calls before it run again and are done once") {
  Transactions it;
  std::vector<bool> alone;
  it.at_end = [&](const CallFrame& call) {
    alone.push_back(call.alone);
    return has(call, 3) ? fails("23505") : CallEnd{};  // the verdict done after it does not count
  };
  it.run(12, {.concurrency = 1, .group = 6});
  REQUIRE(it.handled(11));
  CHECK(it.all_written() == Offsets{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(it.classes() == Classes{"sql.23505"});
  std::vector<bool> expected(16, false);
  std::fill_n(expected.begin(), 4, true);
  CHECK(alone == expected);
  CHECK(it.stats().repeated == 0);
}

TEST_CASE("a transaction that the database ended runs again, uncharged, and each event is done once") {
  Transactions it;
  it.at_end = [left = 5](const CallFrame& call) mutable {
    return has(call, 7) && left-- > 0 ? repeats("40P01") : CallEnd{};
  };
  it.at_commit = [in_doubt = true](const auto&) mutable {
    return std::exchange(in_doubt, false) ? commit_ends(CommitEnd::Kind::repeat, "08006") : CommitEnd{};
  };
  it.run(20, {.concurrency = 1, .group = 10});
  REQUIRE(it.handled(20));
  const auto all = offsets_from(0, 20);
  CHECK(it.all_written() == Offsets{all.begin(), all.end()});
  CHECK(it.classes().empty());
  CHECK(it.stats().repeated == 6);
}

TEST_CASE("a call's spans end with its transaction and show the settled outcome") {
  test::SpanOutcomes outcomes;
  {
    Transactions it;
    it.at_commit = [once = true](const auto&) mutable {
      return std::exchange(once, false) ? commit_ends(CommitEnd::Kind::repeat, "40001") : CommitEnd{};
    };
    it.at_end = [](const CallFrame& call) { return has(call, 0) ? fails("23505") : CallEnd{}; };
    it.run(2, {.concurrency = 1, .group = 2}, handle_done, &outcomes);
    REQUIRE(it.handled(1));
  }
  CHECK(outcomes == test::SpanOutcomes{"undone", "undone", "sql.23505", "done"});
}

TEST_CASE("an event that breaks its transaction each time is found and charged, and it alone") {
  using Kind = CommitEnd::Kind;
  std::string charged = "sql.08006";
  SpanOutcomes outcomes;
  Transactions it;
  const auto at_end = [&](auto change) {
    it.at_end = [change](const CallFrame& call) {
      if (!has(call, 3)) return CallEnd{};
      auto end = repeats("08006");
      change(end);
      return end;
    };
  };
  const auto at_commit = [&](Kind kind, const std::string& state, bool in_doubt) {
    it.at_commit = [=](const Offsets& written) {
      if (!written.contains(3)) return CommitEnd{};
      auto end = commit_ends(kind, state);
      end.was_in_doubt = in_doubt;
      return end;
    };
  };
  SECTION("its transaction never commits") {
    charged = "sql.40001";
    at_end([](CallEnd& end) { end = repeats("40001"); });
  }
  SECTION("its call meets the deadline") {
    charged = "sql.57014";
    at_end([](CallEnd& end) { end = fails("57014"); });
  }
  SECTION("the connection breaks in its statement, also while its failure is recorded") {
    at_end([](CallEnd& end) { end.lost_in_statement = true; });
    it.at_commit = [away = 2](const Offsets& written) mutable {
      return written.empty() && away-- > 0 ? commit_ends(Kind::repeat, "08006") : CommitEnd{};
    };
  }
  SECTION("the server never ends its statement at the deadline") {
    at_end([](CallEnd& end) { end.was_cut_off = true; });
  }
  SECTION("the connection breaks at COMMIT") { at_commit(Kind::repeat, "08006", true); }
  SECTION("COMMIT is refused") {
    charged = "sql.23503";
    at_commit(Kind::refused, "23503", false);
  }
  it.run(8, {.concurrency = 1, .events_per_call = 4, .group = 2}, handle_done, &outcomes);
  REQUIRE(it.handled(7));
  CHECK(it.classes() == Classes{charged});
  CHECK(std::count(outcomes.begin(), outcomes.end(), "done") == 7);
  CHECK_FALSE(it.all_written().contains(3));
}

TEST_CASE("no event is charged for the environment") {
  Transactions it;
  std::uint64_t repeated = 49;
  SECTION("for a state that is not known as contention") {
    it.at_end = repeats_times(49, GENERATE("53300", "53400", "42501", "XX000"));
  }
  SECTION("for a full disk, also at COMMIT") {
    it.at_end = repeats_times(50, "53100");
    it.at_commit = [full = 50](const auto&) mutable {
      return full-- > 0 ? commit_ends(CommitEnd::Kind::repeat, "53100") : CommitEnd{};
    };
    repeated = 100;
  }
  SECTION("for a server that misses the deadline eighteen times in a row") {
    it.at_end = [cuts = 18](const auto&) mutable {  // after ten of them the events go one by one
      auto end = cuts > 0 ? repeats("08006") : CallEnd{};
      end.was_cut_off = cuts-- > 0;
      return end;
    };
    repeated = 17;  // and a split
  }
  it.run(2, {.concurrency = 1, .events_per_call = 2, .group = 1});
  REQUIRE(it.handled(2));
  CHECK(it.classes().empty());
  CHECK(it.stats().repeated == repeated);
}

TEST_CASE("no event is charged while the database refuses the daemon's own records") {
  Transactions it;
  it.at_commit = [refusals = 60](const Offsets& written) mutable {
    if (refusals-- > 0) return commit_ends(CommitEnd::Kind::unsettled, "42501");
    // Also while a failure is recorded, and at COMMIT.
    const bool is_refused = written.contains(2) || (written.empty() && refusals-- > -20);
    return is_refused ? commit_ends(CommitEnd::Kind::refused, "42501") : CommitEnd{};
  };
  it.run(6, {.concurrency = 1, .events_per_call = 2, .group = 3});
  REQUIRE(it.handled(5));
  CHECK(it.classes() == Classes{"sql.42501"});
}

TEST_CASE("a worker without a session takes no events, and the other workers run all keys") {
  std::atomic<bool> is_refused{true};
  Transactions it;
  it.at_open = [&](int worker) -> std::optional<inbox::DatabaseFailure> {
    if (!is_refused || worker > 1) return std::nullopt;
    return inbox::DatabaseFailure{inbox::Fault::reconnect, "53300", "too many connections for role"};
  };
  it.run(0, {.concurrency = 3, .group = 1});
  CHECK(eventually([&] { return it.stats().missing_sessions.workers == 1; }));
  for (std::int64_t i = 0; i < 50; ++i) it.base.database.add(lease_of(offsets_from(i * 10, 10)));
  CHECK(it.handled(500));
  CHECK(it.stats().missing_sessions.error == "too many connections for role");
  CHECK(it.classes().empty());
  is_refused = false;
  CHECK(eventually([&] { return it.stats().missing_sessions.workers == 0; }));
}

TEST_CASE("events whose session is lost and cannot be replaced are run by workers with a session, uncharged") {
  std::atomic<bool> is_away{false};
  Transactions it;
  it.at_open = [&](int worker) -> std::optional<inbox::DatabaseFailure> {
    if (!is_away || worker > 1) return std::nullopt;
    return inbox::DatabaseFailure{inbox::Fault::reconnect, "", "sorry, too many clients already"};
  };
  it.at_end = [&](const auto&) {
    return is_away.exchange(true) ? CallEnd{} : repeats(std::string{transaction::lost_connection});
  };
  it.run(0, {.group = 1});
  it.base.database.add(lease_of(offsets_from(0, 100)));
  CHECK(it.handled(100));
  CHECK(it.classes().empty());
}

TEST_CASE("events that COMMIT refuses blow the fuse, although their calls said done") {
  Transactions it;
  it.at_commit = [](const Offsets& written) {
    return written.empty() ? CommitEnd{} : commit_ends(CommitEnd::Kind::refused, "23503");
  };
  it.run(60, {.concurrency = 1, .group = 10, .fuse = 5});
  REQUIRE(it.base.becomes(&Stats::paused, true));
  CHECK(it.classes().size() == 5);
}

TEST_CASE("failures of a transaction with a done event before them count towards the fuse once COMMIT has succeeded") {
  const auto fails = GENERATE(2, 3);  // of each four
  Transactions it;
  it.run(20, {.concurrency = 1, .group = 20, .fuse = 3},
         [=](std::int64_t offset) { return offset % 4 < 4 - fails ? Verdict{} : dead("broken"); });
  if (fails == 2) {
    REQUIRE(it.handled(10));
    CHECK_FALSE(it.stats().paused);
  } else {
    CHECK(it.base.becomes(&Stats::paused, true));
  }
}

TEST_CASE("an event whose handler changed the session is charged for it") {
  Transactions it;
  it.at_end = [](const CallFrame& call) {
    CallEnd end;
    if (has(call, 2)) end.violation = "took a session advisory lock";
    return end;
  };
  it.run(10, {.concurrency = 1, .events_per_call = 5, .group = 1});
  REQUIRE(it.handled(9));
  REQUIRE(it.classes() == Classes{"sql.session"});
  CHECK(it.failures().at(0).message == "the handler took a session advisory lock");
}

TEST_CASE("a changed session that is found late is charged to the event that changed it") {
  Transactions it;
  it.at_end = [holds = false, is_suspicious = false](const CallFrame& call) mutable {
    CallEnd end;
    if (has(call, 1)) end = fails("23505");  // from then on each call has its savepoint
    holds = holds || has(call, 2);
    if (!holds || (!is_suspicious && !has(call, 5))) return end;
    end.violation = "took a session advisory lock";
    is_suspicious = true;
    holds = false;
    return end;
  };
  it.run(10, {.concurrency = 1, .group = 10});
  REQUIRE(it.handled(8));
  CHECK(it.classes() == Classes{"sql.23505", "sql.session"});
  CHECK(it.all_written() == Offsets{0, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("events of a lost lease are not done, and the others of the transaction run again") {
  Transactions it;
  it.at_commit = [once = true](const auto&) mutable {
    CommitEnd end;
    if (!std::exchange(once, false)) return end;
    end.kind = CommitEnd::Kind::lost;
    end.lost = {{1, 1'001}};
    return end;
  };
  it.base.database.add(lease_of(offsets_from(100, 5), 1));
  it.base.database.add(lease_of(offsets_from(0, 5), 2));
  it.run(0, {.concurrency = 1, .group = 10});
  REQUIRE(it.handled(5));
  CHECK(it.settled.at(0).key.delivery_id == 2);
  CHECK(it.base.settler.counters().lost == 1);
}

TEST_CASE("a call that does not return is cut off and charged alone; other workers do the group's other calls") {
  const test::Latch latch;
  Transactions it;
  it.run(6, {.deadline = 20ms, .group = 6}, test::block_on(latch, 2));
  REQUIRE(eventually([&] { return it.done() == 5; }));
  REQUIRE(eventually([&] { return it.base.classes() == Classes{"deadline"}; }));
  CHECK(it.read([](const auto& script) { return script.was_cut; }));
  CHECK(it.all_written() == Offsets{0, 1, 3, 4, 5});
  latch.open();
  REQUIRE(it.base.abandoned(0));
  CHECK(it.done() == 5);
}

TEST_CASE("a call that waits for the database past its deadline is neither given up nor charged") {
  const test::Latch latch;
  std::atomic<bool> was_told{false};
  Transactions it;
  it.waiting = true;
  it.at_end = [&](const CallFrame&) { return it.waiting.exchange(false) ? repeats("08006") : CallEnd{}; };  // cut off
  it.run(3, {.concurrency = 1, .events_per_call = 3, .deadline = 20ms}, [&](const auto&, const auto& cancellation) {
    if (cancellation.requested) was_told = true;
    latch.wait();
  });
  REQUIRE(latch.blocks());
  const auto long_past = std::chrono::steady_clock::now() + 200ms;
  REQUIRE(eventually([&] { return it.stats().deadlines > 0 || std::chrono::steady_clock::now() > long_past; }));
  latch.open();
  REQUIRE(it.handled(3));
  CHECK(was_told);
  CHECK(it.base.failures().empty());
  CHECK(it.stats().deadlines == 0);
  CHECK(it.stats().repeated == 1);
}

TEST_CASE("runs for a handler with transactions are cut so that each worker has its own") {
  Transactions it;
  it.run(0, {.concurrency = 4, .group = 1});
  REQUIRE(it.base.caught_up());
  const auto room = it.base.dispatcher.reserve(7, 40, 4'000);
  CHECK(room.events == 40);
  CHECK(room.run_events == 10);
  it.base.dispatcher.release(7, 40);
  it.base.database.add(lease_of(offsets_from(0, 5)));
  REQUIRE(it.handled(5));
  CHECK(it.base.database.read([](const auto& database) { return database.claims.at(0).slice; }) > 0);
}

}  // namespace inboxd::dispatcher
