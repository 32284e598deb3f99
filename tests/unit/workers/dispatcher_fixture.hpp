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

#include "support/wait.hpp"
#include "unit/settler/runs.hpp"
#include "workers/dispatcher.hpp"

/// A dispatcher and a settler on a database in memory.
namespace inboxd::test {

using dispatcher::Dispatcher;
using support::eventually;

/// Due deliveries, their outcomes, and the calls made. Shared by FakeVisit and FakeStore.
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
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
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
  /// Counts a claim, also one that gets no answer. Under the lock.
  void note(const dispatcher::Request& request) {
    if (std::holds_alternative<dispatcher::ClaimInOrder>(request)) ++claims_in_order;
    const auto* const claim = std::get_if<dispatcher::Claim>(&request);
    if (claim == nullptr) return;
    ++all_claims;
    not_before = claim->request.not_before;
    if (away) lost_fences.push_back(claim->request.fence);
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

/// The answers of a fake database to the claimer's questions. In order: this process is the only one.
struct FakeVisit {
  FakeDatabase& database;  ///< locked, and not away

  // A single process needs no answer to most questions.
  template <class Question>
  dispatcher::Answer operator()(const Question&) const {
    return typename Question::Result{};
  }
  dispatcher::Answer operator()(const dispatcher::RenewLeases& it) const { return note(database.renewed, it.keys); }
  dispatcher::Answer operator()(const dispatcher::ReleaseLeases& it) const {
    for (const auto& key : it.keys) {
      const auto at = database.due_again.find(key.delivery_id);
      if (at != database.due_again.end()) database.due.push_back(at->second);
    }
    note(database.released, it.keys);
    return std::monostate{};
  }
  dispatcher::Answer operator()(const dispatcher::ReleaseClaims& it) const {
    auto& all = database.released_fences;
    all.insert(all.end(), it.fences.begin(), it.fences.end());
    return std::monostate{};
  }
  dispatcher::Answer operator()(const dispatcher::SettleSkipped& it) const {
    note(database.skipped, it.keys);
    return std::monostate{};
  }
  dispatcher::Answer operator()(const dispatcher::ReadDue&) const {
    const auto age = std::chrono::steady_clock::now() - database.started;
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(age).count();
    return inbox::DueReading{std::nullopt, now, database.oldest_transaction, 1};
  }
  dispatcher::Answer operator()(const dispatcher::Claim& it) const { return claim(it.request); }
  dispatcher::Answer operator()(const dispatcher::TakeSequences& it) const {
    auto& all = database.taken_sequences;
    all.insert(all.end(), it.wanted.begin(), it.wanted.end());
    return it.wanted;
  }
  dispatcher::Answer operator()(const dispatcher::RenewSequences& it) const {
    std::vector<inbox::RenewedSequence> out;
    for (const auto& key : it.keys) out.push_back({key.sequence, false});
    return out;
  }
  dispatcher::Answer operator()(const dispatcher::ReleaseSequences& it) const {
    for (const auto& key : it.keys) database.released_sequences.push_back(key.sequence);
    return std::monostate{};
  }
  dispatcher::Answer operator()(const dispatcher::CheckLanes& it) const {
    return dispatcher::CheckLanes::Result{it.lanes, {}};
  }
  dispatcher::Answer operator()(const dispatcher::ClaimInOrder& it) const { return claim_in_order(it.request); }

 private:
  dispatcher::Answer claim(const inbox::ClaimRequest& request) const {
    if (database.refused.contains(request.handler_id)) {
      ++database.refusals;
      return inbox::DatabaseFailure{inbox::Fault::stop, "42501", "not allowed"};
    }
    inbox::Claimed out;
    out.empty = std::exchange(database.empty, {});
    out.excess = std::exchange(database.excess, {});
    std::int64_t events = 0;
    for (auto at = database.due.begin(); at != database.due.end();) {
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
      at = database.due.erase(at);
      if (is_suspect) break;
    }
    if (!out.runs.empty()) database.claims.push_back(request);
    return dispatcher::Claim::Result{std::move(out)};
  }
  dispatcher::Answer claim_in_order(const inbox::ClaimInOrderRequest& request) const {
    if (database.lost_claims_in_order > 0 && !database.due_in_order.empty()) {
      --database.lost_claims_in_order;
      return disconnected();
    }
    inbox::ClaimedInOrder out;
    using State = inbox::SequenceRead::State;
    for (const auto& read : request.read) {
      State state = State::end;
      int runs = 0;
      auto& due = database.due_in_order;
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
  static std::int64_t note(std::vector<std::int64_t>& to, const std::vector<inbox::LeaseKey>& keys) {
    for (const auto& key : keys) to.push_back(key.delivery_id);
    return static_cast<std::int64_t>(keys.size());
  }
};

inline dispatcher::AskDatabase ask(FakeDatabase& database) {
  return [&database](const dispatcher::Request& request, const dispatcher::VisitLimit& limit) {
    const std::lock_guard lock{database.mutex};
    database.longest_statement = limit.longest;
    database.note(request);
    if (database.is_away()) return dispatcher::Reply{disconnected(), database.generation};
    return dispatcher::Reply{std::visit(FakeVisit{database}, request), database.generation};
  };
}

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
            settings, ask(database), settler, log, limits, std::move(transactions)} {
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
