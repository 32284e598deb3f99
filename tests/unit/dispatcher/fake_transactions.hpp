#pragma once
#include <set>

#include "unit/dispatcher/fakes.hpp"

/// Transactions of handlers in memory, over a database that says what the test wants.
namespace inboxd::test {

using dispatcher::HandlerSetup;
using inbox::CommitEnd;
using plugin::Delivered;
using plugin::Verdict;

/// What a stand-in for the database has committed, and what it is to say next.
struct Ledger {
  std::mutex mutex;
  std::multiset<std::int64_t> written;  ///< offsets whose calls were committed and not undone
  std::vector<inbox::Settlement> settled;
  int commits = 0;
  int rollbacks = 0;
  int calls = 0;
  bool was_cut = false;
  std::atomic<bool> waiting{false};  ///< the database does not answer

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
  bool is_waiting() const override { return ledger_.waiting; }

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
  explicit SqlInstance(Say say, Told* told = nullptr) : say_{std::move(say)}, told_{told} {}
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
  Say say_;
  Told* told_;
};

struct Bank {
  explicit Bank(Ledger& its_ledger)
      : ledger{its_ledger}, house{config::Dispatch{}, House::quick(), [&](const std::string&) {
                                    return std::make_unique<MemoryTransaction>(ledger);
                                  }} {}

  void run(int group, int events_per_call, Say say = say_done, int concurrency = 1, Told* told = nullptr) {
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

inline inbox::SqlError error_of(std::string sqlstate) { return inbox::error_with(std::move(sqlstate), "made up"); }

inline bool has(const inbox::CallFrame& frame, std::int64_t offset) {
  for (const auto& event : frame.events) {
    if (event.event->offset == offset) return true;
  }
  return false;
}

/// The error classes of the failures that were recorded in transactions.
inline std::vector<std::string> classes_of(Ledger& ledger) {
  return ledger.read([](const Ledger& it) {
    std::vector<std::string> out;
    for (const auto& settlement : it.settled) {
      for (const auto& failure : settlement.failures) out.push_back(failure.error_class);
    }
    return out;
  });
}

}  // namespace inboxd::test
