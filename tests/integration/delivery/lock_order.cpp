// Each pair of statements that write, in two sessions.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "integration/delivery/writers.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace inboxd::support::writers;

namespace {

/// A transaction of a writer, in a session and a thread of its own.
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
  /// Until its statements have ended or wait for another session. Returns whether they wait.
  bool settle_down(Database& observer) {
    const bool settled = eventually([&] {
      return has_ended_ || observer.number("select count(*) from pg_stat_activity where pid = $1::int and state = "
                                           "'active' and (wait_event_type = 'Lock' or wait_event = 'PgSleep')",
                                           {process_}) > 0;
    });
    if (!settled) throw std::runtime_error{"the transaction neither ends nor waits"};
    return !has_ended_;
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
  /// The second writer begins while the first writer's transaction is open.
  void run(const Writer& first, const Writer& second, int place) {
    reset(first, second);
    a_.start(first.steps(0), false);
    a_.settle_down(state_.database());
    b_.start(second.steps(place), true);
    b_.settle_down(state_.database());
    a_.end();
    b_.end();
    check(first, second);
  }
  /// Both begin while a third session holds a row that both may want. False: the first writer does not want it.
  bool run_behind(const std::string& row, const Writer& first, const Writer& second) {
    reset(first, second);
    third_.run("begin");
    third_.run(row);
    a_.start(first.steps(0), true);
    const bool waits = a_.settle_down(state_.database());
    b_.start(second.steps(0), true);
    b_.settle_down(state_.database());
    third_.run("commit");
    a_.end();
    b_.end();
    check(first, second);
    return waits;
  }
  State& state() { return state_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  int runs() const { return runs_; }

 private:
  void reset(const Writer& first, const Writer& second) {
    if (runs_++ % 100 == 99) state_.vacuum();
    state_.reset(first.needs_ended_leases || second.needs_ended_leases);
  }
  void check(const Writer& first, const Writer& second) {
    const auto complaint = first.drops_events || second.drops_events ? "" : state_.complaint();
    if (complaint.empty() && a_.error().empty() && b_.error().empty()) return;
    complaints_.push_back(first.name + " beside " + second.name + ": " + complaint + a_.error() + b_.error());
  }

  State state_;
  Transaction a_{state_, "a"};
  Transaction b_{state_, "b"};
  Session third_{state_.database().url(), state_.database().schema()};
  int runs_ = 0;
  std::vector<std::string> complaints_;
};

bool may_meet(const Writer& first, const Writer& second) {
  return (first.of_events && second.of_events) || (first.of_messages && second.of_messages);
}
bool is_of_a_place(const Writer& writer) {
  const auto of_one = writer.steps(0), of_other = writer.steps(1);
  return !std::equal(of_one.begin(), of_one.end(), of_other.begin(), of_other.end(), [](const Step& a, const Step& b) {
    return a.sql == b.sql && a.parameters == b.parameters;
  });
}
/// Two statements of the same process never take the same rows at once.
bool may_share_rows(const Writer& first, const Writer& second) { return !first.is_of_owner || !second.is_of_owner; }

/// Calls `test` with each writer as the first of its pairs. Four at once, each in a schema of its own: they mostly
/// wait.
void for_each_writer(const std::function<void(Pairs&, const Writer& first, const std::vector<Writer>& all)>& test) {
  std::atomic<std::size_t> next{0};
  std::array<Pairs, 4> all_pairs;
  std::array<std::string, 4> errors;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all_pairs.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const auto writers = all_pairs.at(i).state().writers();
        for (auto at = next++; at < writers.size(); at = next++) test(all_pairs.at(i), writers[at], writers);
      } catch (const std::exception& error) {
        errors.at(i) = error.what();
      }
    });
  }
  int runs = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    runs += all_pairs.at(i).runs();
    CHECK(errors.at(i) == "");
    for (const std::string& complaint : all_pairs.at(i).complaints()) FAIL_CHECK(complaint);
  }
  WARN(runs << " pairs");
}

}  // namespace

// fault: mode, order key or scope of a handler changes beside other instances, under failing load
TEST_CASE("any two statements that write end without a deadlock, and each event then has one state") {
  for_each_writer([](Pairs& pairs, const Writer& first, const std::vector<Writer>& all) {
    for (const Writer& second : all) {
      if (!may_meet(first, second)) continue;
      const bool share = may_share_rows(first, second);
      if (share) pairs.run(first, second, 0);
      if (!share || is_of_a_place(second)) pairs.run(first, second, 1);
    }
  });
}

TEST_CASE("any two statements that write take the same rows in an order without a deadlock") {
  for_each_writer([](Pairs& pairs, const Writer& first, const std::vector<Writer>& all) {
    for (const std::string& row : pairs.state().wanted_rows()) {
      for (const Writer& second : all) {
        if (!may_meet(first, second) || !may_share_rows(first, second)) continue;
        if (!pairs.run_behind(row, first, second)) break;
      }
    }
  });
}
