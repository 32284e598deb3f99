#pragma once
#include <set>

#include "unit/workers/dispatcher_fixture.hpp"

/// Handlers' transactions in memory. The test scripts the database's answers.
namespace inboxd::test {

using event::Verdict;
using plugin::Delivered;
using transaction::CommitEnd;

/// The commits of the fake transactions, and their next answers.
struct TransactionScript {
  std::mutex mutex;
  std::multiset<std::int64_t> written;  ///< offsets of committed calls that were not undone
  std::vector<inbox::Settlement> settled;
  int commits = 0;
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
    return read([](const TransactionScript& it) { return done_in(it.settled); });
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
  void roll_back() override { written_.clear(); }
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

/// A handler with SQL.
struct Transactions : TransactionScript {
  Setups setup_of(HandlerFunction function, config::Handler settings, SpanOutcomes* outcomes = nullptr) const {
    return setup(std::make_unique<SqlInstance>(std::move(function), outcomes), std::move(settings));
  }
  /// Starts, with so many events due.
  void run(std::size_t events, const HandlerOptions& options, HandlerFunction function = handle_done,
           SpanOutcomes* outcomes = nullptr) {
    if (events > 0) base.database.add(lease_of(offsets_from(0, events)));
    base.start(setup_of(std::move(function), handler(options), outcomes));
  }
  bool handled(std::int64_t events) {
    return eventually([&] { return done() == events; }) && base.idle();
  }
  std::multiset<std::int64_t> all_written() {
    return read([](const auto& it) { return it.written; });
  }
  /// The failures that were recorded in transactions.
  std::vector<inbox::FailedAttempt> failures() {
    return read([](const auto& it) { return all_of(it.settled, &inbox::Settlement::failures); });
  }
  Classes classes() { return classes_of(failures()); }
  dispatcher::Stats stats() const { return base.stats(); }

  DispatcherFixture base{
      {}, DispatcherFixture::quick(), [this](const std::string&) { return std::make_unique<FakeTransaction>(*this); }};
};

inline transaction::SqlError error_of(std::string sqlstate) {
  return transaction::error_with(std::move(sqlstate), "made up");
}
/// A call with a statement that failed and was not rolled back.
inline transaction::CallEnd fails(std::string sqlstate) {
  transaction::CallEnd out;
  out.unhandled_error = error_of(std::move(sqlstate));
  return out;
}
/// A call whose transaction failed through no fault of the handler.
inline transaction::CallEnd repeats(std::string sqlstate) {
  auto out = fails(std::move(sqlstate));
  out.must_repeat = true;
  return out;
}
inline CommitEnd commit_ends(CommitEnd::Kind kind, std::string sqlstate) {
  CommitEnd out;
  out.kind = kind;
  out.error = error_of(std::move(sqlstate));
  return out;
}

inline bool has(const transaction::CallFrame& frame, std::int64_t offset) {
  return std::any_of(frame.events.begin(), frame.events.end(),
                     [&](const auto& each) { return each.event->offset == offset; });
}

}  // namespace inboxd::test
