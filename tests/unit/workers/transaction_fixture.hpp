#pragma once
#include <set>

#include "unit/workers/dispatcher_fixture.hpp"

/// Handlers' transactions in memory. The test scripts the database's answers.
namespace inboxd::test {

using dispatcher::HandlerSetup;
using event::Verdict;
using plugin::Delivered;
using transaction::CommitEnd;

/// The commits of the fake transactions, and their next answers.
struct TransactionScript {
  std::mutex mutex;
  std::multiset<std::int64_t> written;  ///< offsets of committed calls that were not undone
  std::vector<inbox::Settlement> settled;
  int commits = 0;
  int rollbacks = 0;
  int calls = 0;
  int workers = 0;
  bool was_cut = false;
  std::atomic<bool> waiting{false};  ///< the database does not answer

  /// The argument: the worker's number, from 1.
  std::function<std::optional<inbox::DatabaseFailure>(int)> at_open = [](int) { return std::nullopt; };
  std::function<transaction::CallEnd(const transaction::CallFrame&)> at_end = [](const auto&) {
    return transaction::CallEnd{};
  };
  std::function<CommitEnd(const std::multiset<std::int64_t>&)> at_commit = [](const auto&) { return CommitEnd{}; };
  std::function<void()> in_call = [] {};

  template <class Read>
  auto read(Read get) {
    const std::lock_guard lock{mutex};
    return get(*this);
  }
  std::int64_t done() {
    return read([](const TransactionScript& it) {
      std::int64_t out = 0;
      for (const auto& each : it.settled) out += each.done.count();
      return out;
    });
  }
};

class FakeTransaction final : public transaction::HandlerTransaction {
 public:
  explicit FakeTransaction(TransactionScript& script) : script_{script} {
    const std::lock_guard lock{script_.mutex};
    worker_ = ++script_.workers;
  }

  std::unique_ptr<transaction::SqlResult> execute(const transaction::SqlStatement&) override {
    return std::make_unique<transaction::SqlResult>();
  }
  std::int32_t savepoint() override { return 1; }
  void release_savepoint(std::int32_t) override {}
  void rollback_to(std::int32_t) override {}
  State state() const override { return State::ready; }

  std::optional<inbox::DatabaseFailure> open() override {
    const std::lock_guard lock{script_.mutex};
    return script_.at_open(worker_);
  }
  void begin_call(transaction::CallFrame frame) override {
    frame_ = std::move(frame);
    call_.clear();
    for (const auto& event : frame_.events) call_.insert(event.event->offset);
  }
  transaction::CallEnd end_call() override {
    const std::lock_guard lock{script_.mutex};
    ++script_.calls;
    auto end = script_.at_end(frame_);
    end.ran = true;
    if (!end.must_repeat && !end.violation) written_.merge(std::multiset<std::int64_t>{call_});
    return end;
  }
  void undo_call() override {
    for (const std::int64_t offset : call_) written_.erase(offset);
  }
  CommitEnd commit(const std::vector<inbox::Settlement>& settlements) override {
    const std::lock_guard lock{script_.mutex};
    auto end = script_.at_commit(written_);
    if (end.kind == CommitEnd::Kind::committed) {
      ++script_.commits;
      script_.written.merge(written_);
      script_.settled.insert(script_.settled.end(), settlements.begin(), settlements.end());
    } else if (end.kind == CommitEnd::Kind::lost && end.lost.empty()) {
      for (const auto& each : settlements) end.lost.push_back(each.key);
    }
    written_.clear();
    return end;
  }
  void roll_back() override {
    const std::lock_guard lock{script_.mutex};
    ++script_.rollbacks;
    written_.clear();
  }
  void cut() override {
    const std::lock_guard lock{script_.mutex};
    script_.was_cut = true;
  }
  bool is_waiting() const override { return script_.waiting; }

 private:
  TransactionScript& script_;
  int worker_ = 0;
  transaction::CallFrame frame_;
  std::multiset<std::int64_t> call_;
  std::multiset<std::int64_t> written_;
};

/// The outcomes that spans got, in order: `done` or an error class for each event, or `undone` for a call.
using SpanOutcomes = std::vector<std::string>;

class FakeSpans final : public plugin::PendingSpans {
 public:
  explicit FakeSpans(SpanOutcomes& outcomes) : outcomes_{outcomes} {}
  ~FakeSpans() override {
    if (!was_settled_) outcomes_.emplace_back("undone");
  }
  void settled(std::span<const Verdict> verdicts) override {
    was_settled_ = true;
    for (const Verdict& each : verdicts)
      outcomes_.push_back(each.kind == Verdict::Kind::done ? "done" : each.error_class);
  }

 private:
  SpanOutcomes& outcomes_;
  bool was_settled_ = false;
};

class SqlInstance final : public plugin::Instance {
 public:
  explicit SqlInstance(HandlerFunction function, SpanOutcomes* outcomes = nullptr)
      : function_{std::move(function)}, outcomes_{outcomes} {}
  Needs needs() const override { return {true, false}; }
  std::vector<Verdict> handle(std::span<const Delivered>, const plugin::Cancellation&,
                              std::chrono::steady_clock::time_point) override {
    throw std::logic_error{"called without its transaction"};
  }
  std::vector<Verdict> handle_in(transaction::HandlerSql&, std::span<const Delivered> events,
                                 const plugin::Cancellation& cancellation, std::chrono::steady_clock::time_point,
                                 std::unique_ptr<plugin::PendingSpans>& pending_spans) override {
    std::vector<Verdict> out;
    if (outcomes_ != nullptr) pending_spans = std::make_unique<FakeSpans>(*outcomes_);
    for (const auto& each : events) out.push_back(function_(each, cancellation));
    return out;
  }

 private:
  HandlerFunction function_;
  SpanOutcomes* outcomes_;
};

struct TransactionFixture {
  explicit TransactionFixture(TransactionScript& its_script)
      : script{its_script}, base{config::Dispatch{}, DispatcherFixture::quick(), [&](const std::string&) {
                                   return std::make_unique<FakeTransaction>(script);
                                 }} {}

  void run(int group, int events_per_call, HandlerFunction function = handle_done, int concurrency = 1,
           SpanOutcomes* outcomes = nullptr) {
    auto settings = DispatcherFixture::handler(concurrency, events_per_call);
    settings.group = group;
    settings.fuse_failures = fuse_failures;
    std::vector<HandlerSetup> setup;
    setup.push_back({7, settings, std::make_unique<SqlInstance>(std::move(function), outcomes), false});
    base.dispatcher.replace_handlers(std::move(setup));
    base.dispatcher.start();
  }
  bool handled(std::int64_t events) {
    return eventually([&] { return script.done() == events; }) && eventually([&] { return base.dispatcher.idle(); });
  }

  int fuse_failures = 0;
  TransactionScript& script;
  DispatcherFixture base;
};

inline transaction::SqlError error_of(std::string sqlstate) {
  return transaction::error_with(std::move(sqlstate), "made up");
}

inline bool has(const transaction::CallFrame& frame, std::int64_t offset) {
  for (const auto& event : frame.events) {
    if (event.event->offset == offset) return true;
  }
  return false;
}

/// The error classes of the failures that were recorded in transactions.
inline std::vector<std::string> classes_of(TransactionScript& script) {
  return script.read([](const TransactionScript& it) {
    std::vector<std::string> out;
    for (const auto& settlement : it.settled) {
      for (const auto& failure : settlement.failures) out.push_back(failure.error_class);
    }
    return out;
  });
}

}  // namespace inboxd::test
