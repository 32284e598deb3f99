#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "dispatcher/dispatcher.hpp"
#include "support/wait.hpp"
#include "unit/settler/runs.hpp"

/// A dispatcher and a settler on a database in memory.
namespace inboxd::test {

using dispatcher::Deliveries;
using dispatcher::Dispatcher;
using support::eventually;

/// Due deliveries, their outcomes, and the calls made. Shared by FakeDeliveries and FakeStore.
struct FakeDatabase {
  mutable std::mutex mutex;
  std::deque<inbox::LeasedRun> due;
  std::vector<inbox::LeaseKey> empty, excess;
  std::vector<inbox::Settlement> settled;
  std::vector<std::int64_t> released;
  std::map<std::int64_t, inbox::LeasedRun> due_again;  ///< once released
  std::vector<std::int64_t> skipped;
  std::vector<std::int64_t> renewed;
  std::vector<inbox::ClaimRequest> claims;  ///< those that found something
  int all_claims = 0;
  std::optional<event::Microseconds> not_before;  ///< of the last claim
  int generation = 1;                             ///< of the connection
  std::uint64_t oldest_transaction = 1;           ///< xmin of a reading (xmax is 1); 0: a transaction stays open
  std::vector<std::int64_t> lost_fences;          ///< of claims while it was away
  std::vector<std::int64_t> released_fences;
  bool away = false;
  int failed_calls = 0;            ///< while it was away
  std::set<std::int32_t> refused;  ///< the claims of these handlers are refused
  int refusals = 0;
  std::optional<std::chrono::milliseconds> longest_statement;
  std::deque<inbox::LeasedRun> due_in_order;  ///< for handlers that keep order: log rows and rows of lanes
  std::vector<std::int32_t> taken_sequences, released_sequences;
  int claims_in_order = 0;
  int lost_claims_in_order = 0;  ///< so many of the next ones get no answer

  /// Under the lock.
  bool is_away() {
    if (away) ++failed_calls;
    return away;
  }
  void set_away(bool is_now_away) {
    const std::lock_guard lock{mutex};
    away = is_now_away;
  }
  void add(inbox::LeasedRun lease_of) {
    const std::lock_guard lock{mutex};
    due.push_back(std::move(lease_of));
  }
  std::int64_t done() const {
    const std::lock_guard lock{mutex};
    std::int64_t out = 0;
    for (const auto& each : settled) out += each.done.count();
    return out;
  }
  std::vector<inbox::FailedAttempt> failures() const {
    const std::lock_guard lock{mutex};
    std::vector<inbox::FailedAttempt> out;
    for (const auto& each : settled) out.insert(out.end(), each.failures.begin(), each.failures.end());
    return out;
  }
  std::vector<inbox::RetryGroup> retries() const {
    const std::lock_guard lock{mutex};
    std::vector<inbox::RetryGroup> out;
    for (const auto& each : settled) out.insert(out.end(), each.retries.begin(), each.retries.end());
    return out;
  }
  std::vector<std::int64_t> all_released() const {
    const std::lock_guard lock{mutex};
    auto out = released;
    std::sort(out.begin(), out.end());
    return out;
  }
  void add_in_order(inbox::LeasedRun lease_of) {
    const std::lock_guard lock{mutex};
    due_in_order.push_back(std::move(lease_of));
  }
  template <class Read>
  auto read(Read get) const {
    const std::lock_guard lock{mutex};
    return get(*this);
  }
};

inline inbox::DatabaseFailure disconnected() { return {inbox::Fault::reconnect, "", "away"}; }

class FakeDeliveries final : public Deliveries {
 public:
  explicit FakeDeliveries(FakeDatabase& database) : database_{database} {}

  Answer<inbox::Claimed> claim(const inbox::ClaimRequest& request) override {
    const std::lock_guard lock{database_.mutex};
    ++database_.all_claims;
    database_.not_before = request.not_before;
    if (database_.is_away()) {
      database_.lost_fences.push_back(request.fence);
      return disconnected();
    }
    if (database_.refused.contains(request.handler_id)) {
      ++database_.refusals;
      return inbox::DatabaseFailure{inbox::Fault::stop, "42501", "not allowed"};
    }
    inbox::Claimed out;
    out.empty = std::exchange(database_.empty, {});
    out.excess = std::exchange(database_.excess, {});
    std::int64_t events = 0;
    for (auto at = database_.due.begin(); at != database_.due.end();) {
      if (events >= request.events || out.rows_locked >= request.rows) break;
      const std::int32_t claims_before = at->claims - 1;
      if (at->handler_id != request.handler_id || claims_before < request.claims_from ||
          claims_before > request.claims_to) {
        ++at;
        continue;
      }
      ++out.rows_locked;
      const bool is_suspect = inbox::is_suspect(*at);
      if (is_suspect && !out.runs.empty()) {  // claimed alone
        ++at;
        continue;
      }
      events += static_cast<std::int64_t>(at->events.size());
      out.runs.push_back(std::move(*at));
      at = database_.due.erase(at);
      if (is_suspect) break;
    }
    if (!out.runs.empty()) database_.claims.push_back(request);
    return out;
  }
  Answer<inbox::DueReading> read_due(std::int32_t, std::optional<event::Microseconds>, bool) override {
    const std::lock_guard lock{database_.mutex};
    if (database_.is_away()) return disconnected();
    return inbox::DueReading{std::nullopt, 1, database_.oldest_transaction, 1};
  }
  Answer<std::int64_t> renew(const std::vector<inbox::LeaseKey>& keys, std::chrono::milliseconds) override {
    return note(database_.renewed, keys);
  }
  Answer<std::int64_t> release_leases(const std::vector<inbox::LeaseKey>& keys) override {
    {
      const std::lock_guard lock{database_.mutex};
      for (const auto& key : keys) {
        const auto at = database_.due_again.find(key.delivery_id);
        if (at != database_.due_again.end() && !database_.away) database_.due.push_back(at->second);
      }
    }
    return note(database_.released, keys);
  }
  Answer<std::int64_t> release_claims(std::int32_t, const std::vector<std::int64_t>& fences,
                                      std::chrono::milliseconds) override {
    const std::lock_guard lock{database_.mutex};
    if (database_.is_away()) return disconnected();
    auto& all = database_.released_fences;
    all.insert(all.end(), fences.begin(), fences.end());
    return static_cast<std::int64_t>(fences.size());
  }
  Answer<std::monostate> settle_skipped(const std::vector<inbox::LeaseKey>& keys) override {
    if (note(database_.skipped, keys).index() == 1) return disconnected();
    return std::monostate{};
  }

  // In order: this process is the only one.

  Answer<std::vector<std::int32_t>> take_sequences(std::int32_t, std::int64_t, std::chrono::milliseconds,
                                                   const std::vector<std::int32_t>& wanted, bool,
                                                   const std::string&) override {
    const std::lock_guard lock{database_.mutex};
    if (database_.is_away()) return disconnected();
    auto& all = database_.taken_sequences;
    all.insert(all.end(), wanted.begin(), wanted.end());
    return wanted;
  }
  Answer<std::vector<inbox::RenewedSequence>> renew_sequences(std::int32_t, const std::vector<inbox::SequenceKey>& keys,
                                                              std::chrono::milliseconds) override {
    std::vector<inbox::RenewedSequence> out;
    for (const auto& key : keys) out.push_back({key.sequence, false});
    return out;
  }
  Answer<std::monostate> release_sequences(std::int32_t, const std::vector<inbox::SequenceKey>& keys) override {
    const std::lock_guard lock{database_.mutex};
    for (const auto& key : keys) database_.released_sequences.push_back(key.sequence);
    return std::monostate{};
  }
  Answer<inbox::ClaimedInOrder> claim_in_order(const inbox::ClaimInOrderRequest& request) override {
    const std::lock_guard lock{database_.mutex};
    ++database_.claims_in_order;
    if (database_.is_away()) return disconnected();
    if (database_.lost_claims_in_order > 0 && !database_.due_in_order.empty()) {
      --database_.lost_claims_in_order;
      return disconnected();
    }
    inbox::ClaimedInOrder out;
    using State = inbox::SequenceRead::State;
    for (const auto& read : request.read) {
      State state = State::end;
      int runs = 0;
      auto& due = database_.due_in_order;
      for (auto at = due.begin(); at != due.end();) {
        const bool is_of_other = at->sequence.value_or(read.sequence) != read.sequence;
        const bool is_suspect = inbox::is_suspect(*at);
        if (!is_of_other && is_suspect && runs > 0) {  // claimed alone
          state = State::more;
          break;
        }
        if (is_of_other) {
          ++at;
          continue;
        }
        ++runs;
        out.claimed.runs.push_back(std::move(*at));
        at = due.erase(at);
        if (!is_suspect) continue;
        state = State::more;
        break;
      }
      out.sequences.push_back({read.sequence, state, 0, -1});
    }
    return out;
  }

  void limit_statements(std::optional<std::chrono::milliseconds> longest) override {
    const std::lock_guard lock{database_.mutex};
    database_.longest_statement = longest;
  }
  int generation() const override {
    const std::lock_guard lock{database_.mutex};
    return database_.generation;
  }

 private:
  Answer<std::int64_t> note(std::vector<std::int64_t>& to, const std::vector<inbox::LeaseKey>& keys) {
    const std::lock_guard lock{database_.mutex};
    if (database_.is_away()) return disconnected();
    for (const auto& key : keys) to.push_back(key.delivery_id);
    return static_cast<std::int64_t>(keys.size());
  }
  FakeDatabase& database_;
};

class FakeStore final : public settler::Store {
 public:
  explicit FakeStore(FakeDatabase& database) : database_{database} {}
  inbox::Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) override {
    const std::lock_guard lock{database_.mutex};
    if (database_.is_away()) return disconnected();
    database_.settled.insert(database_.settled.end(), settlements.begin(), settlements.end());
    return std::vector<inbox::LeaseKey>{};
  }

 private:
  FakeDatabase& database_;
};

/// The verdict of a test's handler on one event.
using HandlerFunction = std::function<event::Verdict(const plugin::Delivered&, const plugin::Cancellation&)>;

class FunctionInstance final : public plugin::Instance {
 public:
  explicit FunctionInstance(HandlerFunction function) : function_{std::move(function)} {}
  std::vector<event::Verdict> handle(std::span<const plugin::Delivered> events,
                                     const plugin::Cancellation& cancellation,
                                     std::chrono::steady_clock::time_point) override {
    std::vector<event::Verdict> out;
    for (const auto& each : events) out.push_back(function_(each, cancellation));
    return out;
  }

 private:
  HandlerFunction function_;
};

inline event::Verdict handle_done(const plugin::Delivered&, const plugin::Cancellation&) { return {}; }

inline event::Verdict retry(std::string error_class = "busy",
                            std::optional<std::chrono::milliseconds> delay = std::nullopt) {
  return {event::Verdict::Kind::retry, delay, std::move(error_class), "made up"};
}

/// The offsets that a handler was called with.
struct SeenEvents {
  std::mutex mutex;
  std::multiset<std::int64_t> offsets;
  void note(const plugin::Delivered& each) {
    const std::lock_guard lock{mutex};
    offsets.insert(each.event->offset);
  }
  std::size_t count() {
    const std::lock_guard lock{mutex};
    return offsets.size();
  }
};

/// Blocks calls until it is opened. Shared, because an abandoned call may outlive the test.
struct Latch {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
  std::atomic<int> waiting{0};

  void wait() {
    ++waiting;
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return is_open; });
    --waiting;
  }
  void open() {
    const std::lock_guard lock{mutex};
    is_open = true;
    changed.notify_all();
  }
};

/// A handler that waits for the latch in each call, and is done then.
inline HandlerFunction block_on(const std::shared_ptr<Latch>& latch) {
  return [latch](const plugin::Delivered&, const plugin::Cancellation&) {
    latch->wait();
    return event::Verdict{};
  };
}

/// A dispatcher and a settler with short times.
struct DispatcherFixture {
  explicit DispatcherFixture(config::Dispatch settings = {}) : DispatcherFixture{settings, quick()} {}
  DispatcherFixture(config::Dispatch settings, Dispatcher::Limits limits,
                    transaction::TransactionFactory transactions = {})
      : settler{std::make_unique<FakeStore>(database), log, settler::Settler::Limits{}},
        dispatcher{
            settings, std::make_unique<FakeDeliveries>(database), settler, log, limits, std::move(transactions)} {
    settler.start();
  }
  ~DispatcherFixture() {
    dispatcher.request_stop();
    dispatcher.join(std::chrono::steady_clock::now());
    settler.request_stop();
    settler.join(std::chrono::steady_clock::now());
  }

  static Dispatcher::Limits quick() {
    Dispatcher::Limits limits;
    limits.watch.grace = std::chrono::milliseconds{10};
    limits.watch.patience = std::chrono::milliseconds{5};
    limits.review = std::chrono::milliseconds{2};
    limits.cancelled_calls = std::chrono::milliseconds{20};
    limits.claimer.backoff.first = std::chrono::milliseconds{1};
    limits.claimer.backoff.last = std::chrono::milliseconds{5};
    limits.watch.backoff = limits.claimer.backoff;
    return limits;
  }
  static config::Handler handler(int concurrency = 2, int events_per_call = 1) {
    config::Handler out;
    out.name = "test";
    out.mode = config::Mode::single;
    out.concurrency = concurrency;
    out.events_per_call = events_per_call;
    return out;
  }
  static std::vector<dispatcher::HandlerSetup> setup(HandlerFunction function, config::Handler settings = handler(),
                                                     bool paused = false) {
    std::vector<dispatcher::HandlerSetup> out;
    out.push_back({7, std::move(settings), std::make_unique<FunctionInstance>(std::move(function)), paused});
    return out;
  }
  void run(HandlerFunction function, config::Handler settings = handler()) {
    dispatcher.replace_handlers(setup(std::move(function), std::move(settings)));
    dispatcher.start();
  }
  /// The first claims have found no backlog: ingest can hand runs over.
  bool caught_up() {
    return eventually([&] { return !dispatcher.stats(7).backlog; });
  }
  /// Stores a run as ingest does; false if there is no room to hand it over.
  bool ingest(inbox::LeasedRun lease) {
    const auto events = static_cast<std::int64_t>(lease.events.size());
    const auto room = dispatcher.reserve(lease.handler_id, events, 100);
    if (room.events < events) {
      dispatcher.release(lease.handler_id, room.events);
      return false;
    }
    dispatcher.hand_over(std::move(lease), events);
    return true;
  }

  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  FakeDatabase database;
  settler::Settler settler;
  Dispatcher dispatcher;
};

}  // namespace inboxd::test
