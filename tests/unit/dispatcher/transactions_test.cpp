// Calls inside transactions, over a database that says what the test wants.
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "unit/dispatcher/fakes.hpp"

namespace inboxd::dispatcher {
namespace {

using inbox::CommitEnd;
using plugin::Delivered;
using plugin::Verdict;
using test::eventually;
using test::House;
using test::lease_of;
using test::offsets_from;

/// What a stand-in for the database has committed, and what it is to say next.
struct Ledger {
  std::mutex mutex;
  std::multiset<std::int64_t> written;  ///< offsets whose calls were committed and not undone
  std::vector<inbox::Settlement> settled;
  int commits = 0;
  int rollbacks = 0;
  int calls = 0;
  bool was_cut = false;

  std::function<inbox::CallEnd(const inbox::CallFrame&)> at_end = [](const auto&) { return inbox::CallEnd{}; };
  std::function<CommitEnd(const std::multiset<std::int64_t>&)> at_commit = [](const auto&) { return CommitEnd{}; };
  std::function<void()> in_call = [] {};

  template <class Read>
  auto read(Read get) {
    const std::lock_guard lock{mutex};
    return get(*this);
  }
  std::int64_t done() {
    return read([](const Ledger& it) {
      std::int64_t out = 0;
      for (const auto& each : it.settled) out += each.done.count();
      return out;
    });
  }
};

class MemoryTransaction final : public inbox::HandlerTransaction {
 public:
  explicit MemoryTransaction(Ledger& ledger) : ledger_{ledger} {}

  std::unique_ptr<inbox::SqlResult> execute(const inbox::SqlStatement&) override {
    return std::make_unique<inbox::SqlResult>();
  }
  std::int32_t savepoint() override { return 1; }
  void release_savepoint(std::int32_t) override {}
  void rollback_to(std::int32_t) override {}
  State state() const override { return State::ready; }

  void begin_call(inbox::CallFrame frame) override {
    frame_ = std::move(frame);
    call_.clear();
    for (const auto& event : frame_.events) call_.insert(event.event->offset);
  }
  inbox::CallEnd end_call() override {
    const std::lock_guard lock{ledger_.mutex};
    ++ledger_.calls;
    auto end = ledger_.at_end(frame_);
    end.ran = true;
    if (!end.must_repeat && !end.misdeed) written_.merge(std::multiset<std::int64_t>{call_});
    return end;
  }
  void undo_call() override {
    for (const std::int64_t offset : call_) written_.erase(offset);
  }
  CommitEnd commit(const std::vector<inbox::Settlement>& settlements) override {
    const std::lock_guard lock{ledger_.mutex};
    auto end = ledger_.at_commit(written_);
    if (end.kind == CommitEnd::Kind::committed) {
      ++ledger_.commits;
      ledger_.written.merge(written_);
      ledger_.settled.insert(ledger_.settled.end(), settlements.begin(), settlements.end());
    } else if (end.kind == CommitEnd::Kind::lost && end.lost.empty()) {
      for (const auto& each : settlements) end.lost.push_back(each.key);
    }
    written_.clear();
    return end;
  }
  void roll_back() override {
    const std::lock_guard lock{ledger_.mutex};
    ++ledger_.rollbacks;
    written_.clear();
  }
  void cut() override {
    const std::lock_guard lock{ledger_.mutex};
    ledger_.was_cut = true;
  }

 private:
  Ledger& ledger_;
  inbox::CallFrame frame_;
  std::multiset<std::int64_t> call_;
  std::multiset<std::int64_t> written_;
};

/// What was told of calls, in order: the class of each event's error (or `done`), or `undone`.
using Told = std::vector<std::string>;

class Telling final : public plugin::Aftermath {
 public:
  explicit Telling(Told& told) : told_{told} {}
  ~Telling() override {
    if (!was_settled_) told_.emplace_back("undone");
  }
  void settled(std::span<const Verdict> verdicts) override {
    was_settled_ = true;
    for (const Verdict& each : verdicts) told_.push_back(each.kind == Verdict::Kind::done ? "done" : each.error_class);
  }

 private:
  Told& told_;
  bool was_settled_ = false;
};

class SqlInstance final : public plugin::Instance {
 public:
  explicit SqlInstance(test::Say say, Told* told = nullptr) : say_{std::move(say)}, told_{told} {}
  Needs needs() const override { return {true, false}; }
  std::vector<Verdict> handle(std::span<const Delivered>, const plugin::Cancellation&,
                              std::chrono::steady_clock::time_point) override {
    throw std::logic_error{"called without its transaction"};
  }
  std::vector<Verdict> handle_in(inbox::HandlerSql&, std::span<const Delivered> events,
                                 const plugin::Cancellation& cancellation, std::chrono::steady_clock::time_point,
                                 std::unique_ptr<plugin::Aftermath>& aftermath) override {
    std::vector<Verdict> out;
    if (told_ != nullptr) aftermath = std::make_unique<Telling>(*told_);
    for (const auto& each : events) out.push_back(say_(each, cancellation));
    return out;
  }

 private:
  test::Say say_;
  Told* told_;
};

struct Bank {
  explicit Bank(Ledger& its_ledger)
      : ledger{its_ledger}, house{config::Dispatch{}, House::quick(), [&](const std::string&) {
                                    return std::make_unique<MemoryTransaction>(ledger);
                                  }} {}

  void run(int group, int events_per_call, test::Say say = test::say_done, int concurrency = 1, Told* told = nullptr) {
    auto settings = House::handler(concurrency, events_per_call);
    settings.group = group;
    std::vector<HandlerSetup> setup;
    setup.push_back({7, settings, std::make_unique<SqlInstance>(std::move(say), told), false});
    house.dispatcher.replace_handlers(std::move(setup));
    house.dispatcher.start();
  }
  bool handled(std::int64_t events) {
    return eventually([&] { return ledger.done() == events; }) && eventually([&] { return house.dispatcher.idle(); });
  }

  Ledger& ledger;
  House house;
};

inbox::SqlError error_of(std::string sqlstate) {
  inbox::SqlError error;
  error.sqlstate = std::move(sqlstate);
  error.message = "made up";
  return error;
}

bool has(const inbox::CallFrame& frame, std::int64_t offset) {
  for (const auto& event : frame.events) {
    if (event.event->offset == offset) return true;
  }
  return false;
}

}  // namespace

/// The error classes of the failures that were recorded in transactions.
std::vector<std::string> classes_of(Ledger& ledger) {
  return ledger.read([](const Ledger& it) {
    std::vector<std::string> out;
    for (const auto& settlement : it.settled) {
      for (const auto& failure : settlement.failures) out.push_back(failure.error_class);
    }
    return out;
  });
}

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
  Bank bank{ledger};
  bank.house.database.add(lease_of(offsets_from(0, 8)));
  bank.run(2, 4);
  REQUIRE(bank.handled(7));
  CHECK(classes_of(ledger) == std::vector<std::string>{"sql.08006"});
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

TEST_CASE("runs that are born or claimed for such a handler are cut so that each worker has its own") {
  Ledger ledger;
  Bank bank{ledger};
  bank.run(1, 1, test::say_done, 4);
  REQUIRE(bank.house.caught_up());
  const auto room = bank.house.dispatcher.reserve(7, 40, 4'000);
  CHECK(room.events == 40);
  CHECK(room.run_events == 10);
  bank.house.dispatcher.release(7, 40, 4'000);
  bank.house.database.add(lease_of(offsets_from(0, 5)));
  REQUIRE(bank.handled(5));
  CHECK(bank.house.database.read([](const auto& it) { return it.claims.at(0).slice; }) > 0);
}

}  // namespace inboxd::dispatcher
