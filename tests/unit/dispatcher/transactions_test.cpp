// Calls inside transactions, over a database that says what the test wants.
#include <catch2/catch_test_macros.hpp>

#include "unit/dispatcher/fake_transactions.hpp"

namespace inboxd::dispatcher {

using inbox::CommitEnd;
using plugin::Delivered;
using plugin::Verdict;
using support::eventually;
using test::Bank;
using test::classes_of;
using test::error_of;
using test::has;
using test::House;
using test::lease_of;
using test::Ledger;
using test::offsets_from;
using test::SqlInstance;
using test::Told;

TEST_CASE("so many calls share a transaction, and what is left at the end has one of its own") {
  Ledger ledger;
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 25)));
  bank.run(10, 1);
  REQUIRE(bank.handled(25));
  CHECK(ledger.read([](const auto& it) { return it.commits; }) == 3);
  CHECK(ledger.read([](const auto& it) { return it.calls; }) == 25);
  CHECK(ledger.read([](const auto& it) { return it.written.size(); }) == 25);
  CHECK(bank.house.database.done() == 0);  // the settler had no part in it
  CHECK(bank.house.settler.counters().done == 25);
}

TEST_CASE("a call whose settings others would meet is the last of its transaction") {
  Ledger ledger;
  std::vector<std::size_t> sizes;
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    end.lingers = has(frame, 2) || has(frame, 3);
    return end;
  };
  ledger.at_commit = [&](const std::multiset<std::int64_t>& written) {
    sizes.push_back(written.size());
    return CommitEnd{};
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 8)));
  bank.run(50, 1);
  REQUIRE(bank.handled(8));
  CHECK(ledger.read([&](const auto&) { return sizes; }) == std::vector<std::size_t>{3, 1, 4});
}

TEST_CASE("what an event that is not done wrote is undone, and its failure is recorded with the others") {
  Ledger ledger;
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 10)));
  bank.run(10, 1, [](const Delivered& each, const auto&) -> Verdict {
    if (each.event->offset != 4) return {};
    return {Verdict::Kind::dead, std::nullopt, "sql.23505", "made up"};
  });
  REQUIRE(bank.handled(9));
  CHECK(ledger.read([](const auto& it) { return it.commits; }) == 1);
  CHECK(ledger.read([](const auto& it) { return it.written.count(4); }) == 0);
  CHECK(ledger.read([](const auto& it) { return it.settled.at(0).dead.size(); }) == 1);
}

TEST_CASE("calls get savepoints only after one had to be undone: those before it are made again, and done once") {
  Ledger ledger;
  std::vector<bool> alone;
  ledger.at_end = [&](const inbox::CallFrame& frame) {
    alone.push_back(frame.alone);
    inbox::CallEnd end;
    if (has(frame, 3)) end.unresolved = error_of("23505");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 12)));
  bank.run(6, 1);
  REQUIRE(bank.handled(11));
  CHECK(ledger.read([](const auto& it) { return it.written; }) ==
        std::multiset<std::int64_t>{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.23505"});
  CHECK(alone == std::vector<bool>{true, true, true, true, false, false, false, false, false, false, false, false,
                                   false, false, false, false});
  CHECK(bank.house.dispatcher.stats(7).repeated == 0);
}

TEST_CASE("a transaction that the database ended runs again, uncharged, and each event is done once") {
  Ledger ledger;
  int left = 5;
  ledger.at_end = [&](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    if (has(frame, 7) && left > 0) {
      --left;
      end.must_repeat = true;
      end.unresolved = error_of("40P01");
    }
    return end;
  };
  int in_doubt = 1;
  ledger.at_commit = [&](const auto&) {
    CommitEnd end;
    if (in_doubt-- > 0) {
      end.kind = CommitEnd::Kind::repeat;
      end.error = error_of("08006");
    }
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 20)));
  bank.run(10, 1);
  REQUIRE(bank.handled(20));
  CHECK(ledger.read([](const auto& it) { return it.written; }) ==
        std::multiset<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  CHECK(bank.house.database.failures().empty());
  CHECK(bank.house.dispatcher.stats(7).repeated == 6);
}

TEST_CASE("what becomes of a call is told when its transaction has ended, as it was settled") {
  Told told;
  Ledger ledger;
  int repeats = 1;
  ledger.at_commit = [&](const auto&) {
    CommitEnd end;
    if (repeats-- > 0) {
      end.kind = CommitEnd::Kind::repeat;
      end.error = error_of("40001");
    }
    return end;
  };
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    if (has(frame, 0)) end.unresolved = error_of("23505");  // although the handler says done
    return end;
  };
  {
    Bank bank{ledger};
    bank.house.database.add(lease_of(offsets_from(0, 2)));
    bank.run(2, 1, test::say_done, 1, &told);
    REQUIRE(bank.handled(1));
  }
  CHECK(told == Told{"undone", "undone", "sql.23505", "done"});
}

TEST_CASE("an event whose transaction never gets through is charged at last, and it alone") {
  Ledger ledger;
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    end.must_repeat = has(frame, 3);
    if (end.must_repeat) end.unresolved = error_of("40001");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 8)));
  bank.run(2, 4);
  REQUIRE(bank.handled(7));
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.40001"});
}

TEST_CASE("a disk that is full is waited for, and no event is charged for it, however long") {
  Ledger ledger;
  int full = 100;
  ledger.at_end = [&](const inbox::CallFrame&) {
    inbox::CallEnd end;
    end.must_repeat = full > 50 && full-- > 0;
    if (end.must_repeat) end.unresolved = error_of("53100");
    return end;
  };
  ledger.at_commit = [&](const auto&) {
    CommitEnd end;
    if (full-- <= 0) return end;
    end.kind = CommitEnd::Kind::repeat;
    end.error = error_of("53100");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 2)));
  bank.run(1, 2);
  REQUIRE(bank.handled(2));
  CHECK(classes_of(ledger).empty());
  CHECK(bank.house.dispatcher.stats(7).repeated == 100);
}

namespace {

/// Eight events in calls of four, of which one breaks its connection: it alone is charged.
void one_is_charged_for_the_connection(Ledger& ledger) {
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 8)));
  bank.run(2, 4);
  REQUIRE(bank.handled(7));
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.08006"});
}

}  // namespace

TEST_CASE("an event that breaks the connection each time its statement runs is found and charged, and it alone") {
  Ledger ledger;
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    end.must_repeat = end.lost_in_statement = has(frame, 3);
    if (end.must_repeat) end.unresolved = error_of("08006");
    return end;
  };
  int away = 2;  // the server, when the culprit's failure is to be recorded
  ledger.at_commit = [&](const std::multiset<std::int64_t>& written) {
    CommitEnd end;
    if (!written.empty() || away-- <= 0) return end;
    end.kind = CommitEnd::Kind::repeat;
    end.error = error_of("08006");
    return end;
  };
  one_is_charged_for_the_connection(ledger);
}

TEST_CASE("a server that eighteen times in a row has not ended a statement at its deadline costs no attempt") {
  Ledger ledger;
  int cuts = 18;  // after ten of them the events go one by one
  ledger.at_end = [&](const inbox::CallFrame&) {
    inbox::CallEnd end;
    end.must_repeat = end.was_cut_off = cuts-- > 0;
    if (end.must_repeat) end.unresolved = error_of("08006");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 4)));
  bank.run(2, 2);
  REQUIRE(bank.handled(4));
  CHECK(classes_of(ledger).empty());
}

TEST_CASE("an event whose statement the server never ends at its deadline is found and charged, and it alone") {
  Ledger ledger;
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    end.must_repeat = end.was_cut_off = has(frame, 3);
    if (end.must_repeat) end.unresolved = error_of("08006");
    return end;
  };
  one_is_charged_for_the_connection(ledger);
}

TEST_CASE("an event that breaks the connection at each COMMIT is found and charged, and it alone") {
  Ledger ledger;
  ledger.at_commit = [](const std::multiset<std::int64_t>& written) {
    CommitEnd end;
    if (written.count(3) == 0) return end;
    end.kind = CommitEnd::Kind::repeat;
    end.was_in_doubt = true;
    end.error = error_of("08006");
    return end;
  };
  one_is_charged_for_the_connection(ledger);
}

TEST_CASE(
    "where the database refuses what the daemon records, all waits for somebody to mend it, and none is charged") {
  Ledger ledger;
  int refusals = 60;
  const auto refused = [](CommitEnd::Kind kind) {
    CommitEnd end;
    end.kind = kind;
    end.error = error_of("42501");
    return end;
  };
  ledger.at_commit = [&](const std::multiset<std::int64_t>& written) {
    if (refusals-- > 0) return refused(CommitEnd::Kind::unsettled);
    // The same while a failure is to be recorded, also at COMMIT.
    if (written.count(2) > 0) return refused(CommitEnd::Kind::refused);
    if (written.empty() && refusals-- > -20) return refused(CommitEnd::Kind::refused);
    return CommitEnd{};
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 6)));
  bank.run(3, 2);
  REQUIRE(bank.handled(5));
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.42501"});
}

TEST_CASE("what the database refuses at COMMIT is sought event by event") {
  Told told;
  Ledger ledger;
  ledger.at_commit = [](const std::multiset<std::int64_t>& written) {
    CommitEnd end;
    if (written.count(5) == 0) return end;
    end.kind = CommitEnd::Kind::refused;
    end.error = error_of("23503");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 30)));
  bank.run(3, 5, test::say_done, 1, &told);
  REQUIRE(bank.handled(29));
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.23503"});
  CHECK(ledger.read([](const auto& it) { return it.written.count(5); }) == 0);
  CHECK(std::count(told.begin(), told.end(), "done") == 29);
}

TEST_CASE("what a handler did to its session is charged to the event that did it") {
  Ledger ledger;
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    if (has(frame, 2)) end.misdeed = "took a session advisory lock";
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 10)));
  bank.run(1, 5);
  REQUIRE(bank.handled(9));
  const auto failures = ledger.read([](const auto& it) {
    std::vector<inbox::FailedAttempt> out;
    for (const auto& each : it.settled) out.insert(out.end(), each.failures.begin(), each.failures.end());
    return out;
  });
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].error_class == "sql.session");
  CHECK(failures[0].message == "the handler took a session advisory lock");
}

TEST_CASE("what is found only later in a group is not charged to the event of that moment") {
  Ledger ledger;
  bool holds = false, is_suspicious = false;
  ledger.at_end = [&](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    if (has(frame, 1)) end.unresolved = error_of("23505");  // from then on each call has its savepoint
    holds = holds || has(frame, 2);
    if (!holds || (!is_suspicious && !has(frame, 5))) return end;
    end.misdeed = "took a session advisory lock";
    is_suspicious = true;
    holds = false;
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 10)));
  bank.run(10, 1);
  REQUIRE(bank.handled(8));
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.23505", "sql.session"});
  CHECK(ledger.read([](const auto& it) { return it.written; }) == std::multiset<std::int64_t>{0, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a call of many that ran into its deadline is made again event by event, and the slow one alone is charged") {
  Ledger ledger;
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    if (has(frame, 3)) end.unresolved = error_of("57014");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 20)));
  bank.run(2, 10);
  REQUIRE(bank.handled(19));
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.57014"});
}

TEST_CASE("a handler that says done after a statement failed has done nothing") {
  Ledger ledger;
  ledger.at_end = [](const inbox::CallFrame& frame) {
    inbox::CallEnd end;
    if (has(frame, 1)) end.unresolved = error_of("22012");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 3)));
  bank.run(1, 1);
  REQUIRE(bank.handled(2));
  CHECK(ledger.read([](const auto& it) { return it.written.count(1); }) == 0);
}

TEST_CASE("a lease that was lost is told to nobody as done, and what is still ours goes on") {
  Ledger ledger;
  bool once = true;
  ledger.at_commit = [&](const auto&) {
    CommitEnd end;
    if (std::exchange(once, false)) {
      end.kind = CommitEnd::Kind::lost;
      end.lost = {{1, 1'001}};
    }
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 5), 1));
  bank.house.database.add(lease_of(offsets_from(100, 5), 2));
  bank.run(10, 1);
  REQUIRE(bank.handled(5));
  CHECK(ledger.read([](const auto& it) { return it.settled.at(0).key.delivery_id; }) == 2);
  CHECK(bank.house.settler.counters().lost == 1);
}

TEST_CASE("a call that does not come back is cut off, and charged alone; the group's others are done by others") {
  Ledger ledger;
  test::Door door;
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 6)));
  auto settings = House::handler(2, 1);
  settings.group = 6;
  settings.deadline = std::chrono::milliseconds{20};
  std::vector<HandlerSetup> setup;
  setup.push_back({7, settings, std::make_unique<SqlInstance>([&](const Delivered& each, const auto&) -> Verdict {
                     if (each.event->offset == 2) door.pass();
                     return {};
                   }),
                   false});
  bank.house.dispatcher.replace_handlers(std::move(setup));
  bank.house.dispatcher.start();
  REQUIRE(eventually([&] { return ledger.done() == 5; }));
  REQUIRE(eventually([&] { return bank.house.database.failures().size() == 1; }));
  CHECK(bank.house.database.failures().at(0).error_class == "deadline");
  CHECK(ledger.read([](const auto& it) { return it.was_cut; }));
  CHECK(ledger.read([](const auto& it) { return it.written; }) == std::multiset<std::int64_t>{0, 1, 3, 4, 5});
  door.unlock();
  REQUIRE(eventually([&] { return bank.house.dispatcher.stats(7).abandoned == 0; }));
  CHECK(ledger.done() == 5);
}

TEST_CASE("a call that waits for the database past its deadline is not given up, its thread is kept, nobody charged") {
  Ledger ledger;
  test::Door door;
  ledger.waiting = true;
  ledger.at_end = [&](const inbox::CallFrame&) {
    inbox::CallEnd end;
    end.must_repeat = ledger.waiting.exchange(false);  // cut off at last
    if (end.must_repeat) end.unresolved = error_of("08006");
    return end;
  };
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 3)));
  auto settings = House::handler(1, 3);
  settings.deadline = std::chrono::milliseconds{20};
  std::atomic<bool> was_told{false};
  std::vector<HandlerSetup> setup;
  setup.push_back({7, settings,
                   std::make_unique<SqlInstance>([&](const Delivered&, const auto& cancellation) -> Verdict {
                     if (cancellation.requested) was_told = true;
                     door.pass();
                     return {};
                   }),
                   false});
  bank.house.dispatcher.replace_handlers(std::move(setup));
  bank.house.dispatcher.start();
  REQUIRE(eventually([&] { return door.inside == 1; }));
  const auto long_past = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
  const auto deadlines = [&] { return bank.house.dispatcher.stats(7).deadlines; };
  REQUIRE(eventually([&] { return deadlines() > 0 || std::chrono::steady_clock::now() > long_past; }));
  door.unlock();
  REQUIRE(bank.handled(3));
  CHECK(was_told);
  CHECK(bank.house.database.failures().empty());
  CHECK(deadlines() == 0);
  CHECK(bank.house.dispatcher.stats(7).repeated == 1);
}

TEST_CASE("runs that are born or claimed for such a handler are cut so that each worker has its own") {
  Ledger ledger;
  Bank bank{ledger};
  bank.run(1, 1, test::say_done, 4);
  REQUIRE(bank.house.caught_up());
  const auto room = bank.house.dispatcher.reserve(7, 40, 4'000);
  CHECK(room.events == 40);
  CHECK(room.run_events == 10);
  bank.house.dispatcher.release(7, 40);
  bank.house.database.add(lease_of(offsets_from(0, 5)));
  REQUIRE(bank.handled(5));
  CHECK(bank.house.database.read([](const auto& it) { return it.claims.at(0).slice; }) > 0);
}

}  // namespace inboxd::dispatcher
