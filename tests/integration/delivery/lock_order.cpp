// Each pair of statements that write, in two sessions.
#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <stdexcept>
#include <thread>

#include "integration/delivery/writers.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace inboxd::support::writers;

namespace {

/// A transaction of one writer, in a session and a thread of its own.
class Transaction {
 public:
  Transaction(State& state, const char* name) : session_{state.database().url(), state.database().schema()} {
    session_.run(std::string{"set application_name = 'lock_order_"} + name + "'");
    session_.run("set lock_timeout = '10s'");
    process_ = session_.text("select pg_backend_pid()");
  }
  ~Transaction() { join(); }

  void start(Steps steps, bool commits) {
    error_.clear();
    has_ended_ = false;
    thread_ = std::thread{[this, steps = std::move(steps), commits] {
      try {
        session_.run("begin");
        for (const Step& step : steps) session_.run(step.sql, step.parameters);
        if (commits) session_.run("commit");
      } catch (const std::runtime_error& error) {
        error_ = error.what();
      }
      has_ended_ = true;
    }};
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  void end() {
    join();
    session_.run("commit");
  }
  /// Until its statements have ended or wait for another session.
  void settle_down(Database& observer) {
    wait_until("the transaction ends or waits", [&] {
      return has_ended_ || observer.number("select count(*) from pg_stat_activity where pid = $1::int and state = "
                                           "'active' and (wait_event_type = 'Lock' or wait_event = 'PgSleep')",
                                           {process_}) > 0;
    });
  }
  const std::string& error() const { return error_; }

 private:
  Session session_;
  std::string process_;
  std::thread thread_;
  std::atomic<bool> has_ended_{true};
  std::string error_;
};

class Pairs {
 public:
  /// The second one begins while the first one's transaction is open.
  void run(const Writer& first, const Writer& second, int place) {
    state_.reset(first.needs_ended_leases || second.needs_ended_leases);
    a_.start(first.steps(0), false);
    a_.settle_down(state_.database());
    b_.start(second.steps(place), true);
    b_.settle_down(state_.database());
    a_.end();
    b_.end();
    check(first, second);
  }
  /// Both begin while a third session holds a row that both may want.
  void run_behind_row(const Writer& first, const Writer& second, int row) {
    state_.reset(first.needs_ended_leases || second.needs_ended_leases);
    Session third{state_.database().url(), state_.database().schema()};
    third.run("begin");
    third.run("select from inbox.delivery where delivery_id = $1 for update", {std::to_string(row)});
    a_.start(first.steps(0), true);
    a_.settle_down(state_.database());
    b_.start(second.steps(0), true);
    b_.settle_down(state_.database());
    third.run("commit");
    a_.end();
    b_.end();
    check(first, second);
  }
  State& state() { return state_; }

 private:
  void check(const Writer& first, const Writer& second) {
    const auto complaint = first.drops_events || second.drops_events ? "" : state_.complaint();
    if (!complaint.empty() || !a_.error().empty() || !b_.error().empty()) {
      FAIL_CHECK(first.name << " beside " << second.name << ": " << complaint << a_.error() << b_.error());
    }
  }

  State state_;
  Transaction a_{state_, "a"};
  Transaction b_{state_, "b"};
};

/// Calls `test` with each pair, or a random eighth of them: all take minutes. Two of one process's statements never
/// take the same rows at once.
template <class Test>
void for_each_pair(const std::vector<Writer>& writers, Test test) {
  std::mt19937 random{Catch::getSeed()};
  WARN("seed " << Catch::getSeed());
  for (const Writer& first : writers) {
    for (const Writer& second : writers) {
      if (is_long() || random() % 8 == 0) test(first, second, !first.is_of_owner || !second.is_of_owner);
    }
  }
}

}  // namespace

TEST_CASE("any two statements that write end without a deadlock, and each event then has one state") {
  Pairs pairs;
  for_each_pair(pairs.state().writers(), [&](const Writer& first, const Writer& second, bool may_share_rows) {
    if (may_share_rows) pairs.run(first, second, 0);
    pairs.run(first, second, 1);
  });
}

TEST_CASE("any two statements that write take the same rows in an order without a deadlock") {
  Pairs pairs;
  for_each_pair(pairs.state().writers(), [&](const Writer& first, const Writer& second, bool may_share_rows) {
    for (const int row : {1, 2, 6}) {
      if (may_share_rows) pairs.run_behind_row(first, second, row);
    }
  });
}
