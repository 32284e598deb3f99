// Calls in transactions, on a scripted database.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/workers/transaction_fixture.hpp"

namespace inboxd::dispatcher {

using event::Verdict;
using plugin::Delivered;
using support::eventually;
using test::classes_of;
using test::DispatcherFixture;
using test::error_of;
using test::has;
using test::lease_of;
using test::offsets_from;
using test::SpanOutcomes;
using test::SqlInstance;
using test::TransactionFixture;
using test::TransactionScript;
using transaction::CommitEnd;

TEST_CASE("as many calls as configured share a transaction, and the rest has its own") {
  TransactionScript script;
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 25)));
  fixture.run(10, 1);
  REQUIRE(fixture.handled(25));
  CHECK(script.read([](const auto& it) { return it.commits; }) == 3);
  CHECK(script.read([](const auto& it) { return it.calls; }) == 25);
  CHECK(script.read([](const auto& it) { return it.written.size(); }) == 25);
  CHECK(fixture.base.database.done() == 0);  // not recorded by the settler
  CHECK(fixture.base.settler.counters().done == 25);
}

TEST_CASE("a call whose settings outlast it is the last of its transaction") {
  TransactionScript script;
  std::vector<std::size_t> sizes;
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    end.leaves_state = has(frame, 2) || has(frame, 3);
    return end;
  };
  script.at_commit = [&](const std::multiset<std::int64_t>& written) {
    sizes.push_back(written.size());
    return CommitEnd{};
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 8)));
  fixture.run(50, 1);
  REQUIRE(fixture.handled(8));
  CHECK(script.read([&](const auto&) { return sizes; }) == std::vector<std::size_t>{3, 1, 4});
}

TEST_CASE("the writes of a failed event are undone, and its failure is recorded with the others") {
  TransactionScript script;
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 10)));
  fixture.run(10, 1, [](const Delivered& each, const auto&) -> Verdict {
    if (each.event->offset != 4) return {};
    return {Verdict::Kind::dead, std::nullopt, "sql.23505", "made up"};
  });
  REQUIRE(fixture.handled(9));
  CHECK(script.read([](const auto& it) { return it.commits; }) == 1);
  CHECK(script.read([](const auto& it) { return it.written.count(4); }) == 0);
  CHECK(script.read([](const auto& it) { return it.settled.at(0).dead.size(); }) == 1);
}

TEST_CASE("calls get savepoints only after one had to be undone; the calls before it run again and are done once") {
  TransactionScript script;
  std::vector<bool> alone;
  script.at_end = [&](const transaction::CallFrame& frame) {
    alone.push_back(frame.alone);
    transaction::CallEnd end;
    if (has(frame, 3)) end.unhandled_error = error_of("23505");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 12)));
  fixture.run(6, 1);
  REQUIRE(fixture.handled(11));
  CHECK(script.read([](const auto& it) { return it.written; }) ==
        std::multiset<std::int64_t>{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(classes_of(script) == std::vector<std::string>{"sql.23505"});
  CHECK(alone == std::vector<bool>{true, true, true, true, false, false, false, false, false, false, false, false,
                                   false, false, false, false});
  CHECK(fixture.base.dispatcher.stats(7).repeated == 0);
}

TEST_CASE("a transaction that the database ended runs again, uncharged, and each event is done once") {
  TransactionScript script;
  int left = 5;
  script.at_end = [&](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    if (has(frame, 7) && left > 0) {
      --left;
      end.must_repeat = true;
      end.unhandled_error = error_of("40P01");
    }
    return end;
  };
  int in_doubt = 1;
  script.at_commit = [&](const auto&) {
    CommitEnd end;
    if (in_doubt-- > 0) {
      end.kind = CommitEnd::Kind::repeat;
      end.error = error_of("08006");
    }
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 20)));
  fixture.run(10, 1);
  REQUIRE(fixture.handled(20));
  CHECK(script.read([](const auto& it) { return it.written; }) ==
        std::multiset<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  CHECK(fixture.base.database.failures().empty());
  CHECK(fixture.base.dispatcher.stats(7).repeated == 6);
}

TEST_CASE("a call's spans end with its transaction and show the settled outcome") {
  SpanOutcomes outcomes;
  TransactionScript script;
  int repeats = 1;
  script.at_commit = [&](const auto&) {
    CommitEnd end;
    if (repeats-- > 0) {
      end.kind = CommitEnd::Kind::repeat;
      end.error = error_of("40001");
    }
    return end;
  };
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    if (has(frame, 0)) end.unhandled_error = error_of("23505");  // although the verdict is done
    return end;
  };
  {
    TransactionFixture fixture{script};
    fixture.base.database.add(lease_of(offsets_from(0, 2)));
    fixture.run(2, 1, test::handle_done, 1, &outcomes);
    REQUIRE(fixture.handled(1));
  }
  CHECK(outcomes == SpanOutcomes{"undone", "undone", "sql.23505", "done"});
}

TEST_CASE("an event whose transaction never commits is charged in the end, and it alone") {
  TransactionScript script;
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    end.must_repeat = has(frame, 3);
    if (end.must_repeat) end.unhandled_error = error_of("40001");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 8)));
  fixture.run(2, 4);
  REQUIRE(fixture.handled(7));
  CHECK(classes_of(script) == std::vector<std::string>{"sql.40001"});
}

TEST_CASE("no event is ever charged for a full disk") {
  TransactionScript script;
  int full = 100;
  script.at_end = [&](const transaction::CallFrame&) {
    transaction::CallEnd end;
    end.must_repeat = full > 50 && full-- > 0;
    if (end.must_repeat) end.unhandled_error = error_of("53100");
    return end;
  };
  script.at_commit = [&](const auto&) {
    CommitEnd end;
    if (full-- <= 0) return end;
    end.kind = CommitEnd::Kind::repeat;
    end.error = error_of("53100");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 2)));
  fixture.run(1, 2);
  REQUIRE(fixture.handled(2));
  CHECK(classes_of(script).empty());
  CHECK(fixture.base.dispatcher.stats(7).repeated == 100);
}

namespace {

/// Eight events in calls of four; one breaks its connection, and it alone is charged.
void one_is_charged_for_the_connection(TransactionScript& script) {
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 8)));
  fixture.run(2, 4);
  REQUIRE(fixture.handled(7));
  CHECK(classes_of(script) == std::vector<std::string>{"sql.08006"});
}

}  // namespace

TEST_CASE("a worker without a session takes no events, and the other workers run all keys") {
  TransactionScript script;
  std::atomic<bool> is_refused{true};
  script.at_open = [&](int worker) -> std::optional<inbox::DatabaseFailure> {
    if (!is_refused || worker > 1) return std::nullopt;
    return inbox::DatabaseFailure{inbox::Fault::reconnect, "53300", "too many connections for role"};
  };
  TransactionFixture fixture{script};
  fixture.run(1, 1, test::handle_done, 3);
  CHECK(eventually([&] { return fixture.base.dispatcher.stats(7).missing_sessions.workers == 1; }));
  for (std::int64_t i = 0; i < 50; ++i) fixture.base.database.add(lease_of(offsets_from(i * 10, 10)));
  CHECK(fixture.handled(500));
  CHECK(fixture.base.dispatcher.stats(7).missing_sessions.error == "too many connections for role");
  CHECK(classes_of(script).empty());
  is_refused = false;
  CHECK(eventually([&] { return fixture.base.dispatcher.stats(7).missing_sessions.workers == 0; }));
}

TEST_CASE("events whose session is lost and cannot be replaced are run by workers with a session, uncharged") {
  TransactionScript script;
  std::atomic<bool> is_away{false};
  script.at_open = [&](int worker) -> std::optional<inbox::DatabaseFailure> {
    if (!is_away || worker > 1) return std::nullopt;
    return inbox::DatabaseFailure{inbox::Fault::reconnect, "", "sorry, too many clients already"};
  };
  int lost = 0;
  script.at_end = [&](const auto&) {
    transaction::CallEnd end;
    if (lost++ > 0) return end;
    is_away = true;
    end.must_repeat = true;
    end.unhandled_error = error_of(transaction::lost_connection);
    return end;
  };
  TransactionFixture fixture{script};
  fixture.run(1, 1, test::handle_done, 2);
  fixture.base.database.add(lease_of(offsets_from(0, 100)));
  CHECK(fixture.handled(100));
  CHECK(classes_of(script).empty());
}

TEST_CASE("a state that is not known as contention charges no event") {
  TransactionScript script;
  int attempts = 0;
  const std::string state = GENERATE("53300", "53400", "42501", "XX000");
  script.at_end = [&](const auto&) {
    transaction::CallEnd end;
    end.must_repeat = ++attempts < 50;
    if (end.must_repeat) end.unhandled_error = error_of(state);
    return end;
  };
  TransactionFixture fixture{script};
  fixture.run(1, 1);
  fixture.base.database.add(lease_of(offsets_from(0, 1)));
  CHECK(fixture.handled(1));
  CHECK(classes_of(script).empty());
}

TEST_CASE("an event that breaks the connection each time its statement runs is found and charged, and it alone") {
  TransactionScript script;
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    end.must_repeat = end.lost_in_statement = has(frame, 3);
    if (end.must_repeat) end.unhandled_error = error_of("08006");
    return end;
  };
  int away = 2;  // the server, while the culprit's failure is recorded
  script.at_commit = [&](const std::multiset<std::int64_t>& written) {
    CommitEnd end;
    if (!written.empty() || away-- <= 0) return end;
    end.kind = CommitEnd::Kind::repeat;
    end.error = error_of("08006");
    return end;
  };
  one_is_charged_for_the_connection(script);
}

TEST_CASE("a server that misses the deadline eighteen times in a row costs no attempt") {
  TransactionScript script;
  int cuts = 18;  // after ten of them the events go one by one
  script.at_end = [&](const transaction::CallFrame&) {
    transaction::CallEnd end;
    end.must_repeat = end.was_cut_off = cuts-- > 0;
    if (end.must_repeat) end.unhandled_error = error_of("08006");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 4)));
  fixture.run(2, 2);
  REQUIRE(fixture.handled(4));
  CHECK(classes_of(script).empty());
}

TEST_CASE("an event whose statement the server never ends at its deadline is found and charged, and it alone") {
  TransactionScript script;
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    end.must_repeat = end.was_cut_off = has(frame, 3);
    if (end.must_repeat) end.unhandled_error = error_of("08006");
    return end;
  };
  one_is_charged_for_the_connection(script);
}

TEST_CASE("an event that breaks the connection at each COMMIT is found and charged, and it alone") {
  TransactionScript script;
  script.at_commit = [](const std::multiset<std::int64_t>& written) {
    CommitEnd end;
    if (written.count(3) == 0) return end;
    end.kind = CommitEnd::Kind::repeat;
    end.was_in_doubt = true;
    end.error = error_of("08006");
    return end;
  };
  one_is_charged_for_the_connection(script);
}

TEST_CASE("no event is charged while the database refuses the daemon's own records") {
  TransactionScript script;
  int refusals = 60;
  const auto refused = [](CommitEnd::Kind kind) {
    CommitEnd end;
    end.kind = kind;
    end.error = error_of("42501");
    return end;
  };
  script.at_commit = [&](const std::multiset<std::int64_t>& written) {
    if (refusals-- > 0) return refused(CommitEnd::Kind::unsettled);
    // Also while a failure is recorded, and at COMMIT.
    if (written.count(2) > 0) return refused(CommitEnd::Kind::refused);
    if (written.empty() && refusals-- > -20) return refused(CommitEnd::Kind::refused);
    return CommitEnd{};
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 6)));
  fixture.run(3, 2);
  REQUIRE(fixture.handled(5));
  CHECK(classes_of(script) == std::vector<std::string>{"sql.42501"});
}

TEST_CASE("the event that the database refuses at COMMIT is found one by one") {
  SpanOutcomes outcomes;
  TransactionScript script;
  script.at_commit = [](const std::multiset<std::int64_t>& written) {
    CommitEnd end;
    if (written.count(5) == 0) return end;
    end.kind = CommitEnd::Kind::refused;
    end.error = error_of("23503");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 30)));
  fixture.run(3, 5, test::handle_done, 1, &outcomes);
  REQUIRE(fixture.handled(29));
  CHECK(classes_of(script) == std::vector<std::string>{"sql.23503"});
  CHECK(script.read([](const auto& it) { return it.written.count(5); }) == 0);
  CHECK(std::count(outcomes.begin(), outcomes.end(), "done") == 29);
}

TEST_CASE("events that COMMIT refuses blow the fuse, although their calls said done") {
  TransactionScript script;
  script.at_commit = [](const std::multiset<std::int64_t>& written) {
    CommitEnd end;
    if (written.empty()) return end;
    end.kind = CommitEnd::Kind::refused;
    end.error = error_of("23503");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.fuse_failures = 5;
  fixture.base.database.add(lease_of(offsets_from(0, 60)));
  fixture.run(10, 1);
  REQUIRE(eventually([&] { return fixture.base.dispatcher.stats(7).paused; }));
  CHECK(classes_of(script).size() == 5);
}

TEST_CASE("failures of a transaction with a done event before them count towards the fuse once COMMIT has succeeded") {
  TransactionScript script;
  TransactionFixture fixture{script};
  fixture.fuse_failures = 3;
  fixture.base.database.add(lease_of(offsets_from(0, 20)));
  const auto fails = GENERATE(2, 3);  // of each four
  fixture.run(20, 1, [=](const Delivered& each, const auto&) -> Verdict {
    if (each.event->offset % 4 < 4 - fails) return {};
    return {Verdict::Kind::dead, std::nullopt, "broken", "made up"};
  });
  if (fails == 2) {
    REQUIRE(fixture.handled(10));
    CHECK_FALSE(fixture.base.dispatcher.stats(7).paused);
  } else {
    CHECK(eventually([&] { return fixture.base.dispatcher.stats(7).paused; }));
  }
}

TEST_CASE("an event whose handler changed the session is charged for it") {
  TransactionScript script;
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    if (has(frame, 2)) end.violation = "took a session advisory lock";
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 10)));
  fixture.run(1, 5);
  REQUIRE(fixture.handled(9));
  const auto failures = script.read([](const auto& it) {
    std::vector<inbox::FailedAttempt> out;
    for (const auto& each : it.settled) out.insert(out.end(), each.failures.begin(), each.failures.end());
    return out;
  });
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].error_class == "sql.session");
  CHECK(failures[0].message == "the handler took a session advisory lock");
}

TEST_CASE("a changed session that is found late is charged to the event that changed it") {
  TransactionScript script;
  bool holds = false, is_suspicious = false;
  script.at_end = [&](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    if (has(frame, 1)) end.unhandled_error = error_of("23505");  // from then on each call has its savepoint
    holds = holds || has(frame, 2);
    if (!holds || (!is_suspicious && !has(frame, 5))) return end;
    end.violation = "took a session advisory lock";
    is_suspicious = true;
    holds = false;
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 10)));
  fixture.run(10, 1);
  REQUIRE(fixture.handled(8));
  CHECK(classes_of(script) == std::vector<std::string>{"sql.23505", "sql.session"});
  CHECK(script.read([](const auto& it) { return it.written; }) == std::multiset<std::int64_t>{0, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a call of many events that met its deadline runs again one by one, and only the slow event is charged") {
  TransactionScript script;
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    if (has(frame, 3)) end.unhandled_error = error_of("57014");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 20)));
  fixture.run(2, 10);
  REQUIRE(fixture.handled(19));
  CHECK(classes_of(script) == std::vector<std::string>{"sql.57014"});
}

TEST_CASE("a verdict done after a failed statement does not count") {
  TransactionScript script;
  script.at_end = [](const transaction::CallFrame& frame) {
    transaction::CallEnd end;
    if (has(frame, 1)) end.unhandled_error = error_of("22012");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 3)));
  fixture.run(1, 1);
  REQUIRE(fixture.handled(2));
  CHECK(script.read([](const auto& it) { return it.written.count(1); }) == 0);
}

TEST_CASE("events of a lost lease are not done, and the others of the transaction run again") {
  TransactionScript script;
  bool once = true;
  script.at_commit = [&](const auto&) {
    CommitEnd end;
    if (std::exchange(once, false)) {
      end.kind = CommitEnd::Kind::lost;
      end.lost = {{1, 1'001}};
    }
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 5), 1));
  fixture.base.database.add(lease_of(offsets_from(100, 5), 2));
  fixture.run(10, 1);
  REQUIRE(fixture.handled(5));
  CHECK(script.read([](const auto& it) { return it.settled.at(0).key.delivery_id; }) == 2);
  CHECK(fixture.base.settler.counters().lost == 1);
}

TEST_CASE("a call that does not return is cut off and charged alone; other workers do the group's other calls") {
  TransactionScript script;
  test::Latch latch;
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 6)));
  auto settings = DispatcherFixture::handler(2, 1);
  settings.group = 6;
  settings.deadline = std::chrono::milliseconds{20};
  std::vector<HandlerSetup> setup;
  setup.push_back({7, settings, std::make_unique<SqlInstance>([&](const Delivered& each, const auto&) -> Verdict {
                     if (each.event->offset == 2) latch.wait();
                     return {};
                   }),
                   false});
  fixture.base.dispatcher.replace_handlers(std::move(setup));
  fixture.base.dispatcher.start();
  REQUIRE(eventually([&] { return script.done() == 5; }));
  REQUIRE(eventually([&] { return fixture.base.database.failures().size() == 1; }));
  CHECK(fixture.base.database.failures().at(0).error_class == "deadline");
  CHECK(script.read([](const auto& it) { return it.was_cut; }));
  CHECK(script.read([](const auto& it) { return it.written; }) == std::multiset<std::int64_t>{0, 1, 3, 4, 5});
  latch.open();
  REQUIRE(eventually([&] { return fixture.base.dispatcher.stats(7).abandoned == 0; }));
  CHECK(script.done() == 5);
}

TEST_CASE("a call that waits for the database past its deadline is neither given up nor charged") {
  TransactionScript script;
  test::Latch latch;
  script.waiting = true;
  script.at_end = [&](const transaction::CallFrame&) {
    transaction::CallEnd end;
    end.must_repeat = script.waiting.exchange(false);  // cut off at last
    if (end.must_repeat) end.unhandled_error = error_of("08006");
    return end;
  };
  TransactionFixture fixture{script};
  fixture.base.database.add(lease_of(offsets_from(0, 3)));
  auto settings = DispatcherFixture::handler(1, 3);
  settings.deadline = std::chrono::milliseconds{20};
  std::atomic<bool> was_told{false};
  std::vector<HandlerSetup> setup;
  setup.push_back({7, settings,
                   std::make_unique<SqlInstance>([&](const Delivered&, const auto& cancellation) -> Verdict {
                     if (cancellation.requested) was_told = true;
                     latch.wait();
                     return {};
                   }),
                   false});
  fixture.base.dispatcher.replace_handlers(std::move(setup));
  fixture.base.dispatcher.start();
  REQUIRE(eventually([&] { return latch.waiting == 1; }));
  const auto long_past = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
  const auto deadlines = [&] { return fixture.base.dispatcher.stats(7).deadlines; };
  REQUIRE(eventually([&] { return deadlines() > 0 || std::chrono::steady_clock::now() > long_past; }));
  latch.open();
  REQUIRE(fixture.handled(3));
  CHECK(was_told);
  CHECK(fixture.base.database.failures().empty());
  CHECK(deadlines() == 0);
  CHECK(fixture.base.dispatcher.stats(7).repeated == 1);
}

TEST_CASE("runs for a handler with transactions are cut so that each worker has its own") {
  TransactionScript script;
  TransactionFixture fixture{script};
  fixture.run(1, 1, test::handle_done, 4);
  REQUIRE(fixture.base.caught_up());
  const auto room = fixture.base.dispatcher.reserve(7, 40, 4'000);
  CHECK(room.events == 40);
  CHECK(room.run_events == 10);
  fixture.base.dispatcher.release(7, 40);
  fixture.base.database.add(lease_of(offsets_from(0, 5)));
  REQUIRE(fixture.handled(5));
  CHECK(fixture.base.database.read([](const auto& it) { return it.claims.at(0).slice; }) > 0);
}

}  // namespace inboxd::dispatcher
