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

/// A database, a settler's store and a handler for tests of the dispatcher: in memory, and they remember.
namespace inboxd::test {

using dispatcher::Deliveries;
using dispatcher::Dispatcher;
using support::eventually;

/// The deliveries that are due, and what became of them. Shared by both stand-ins.
struct Database {
  mutable std::mutex mutex;
  std::deque<inbox::LeasedRun> due;
  std::vector<inbox::LeaseKey> empty, over;
  std::vector<inbox::Settlement> settled;
  std::vector<std::int64_t> given_back;
  std::map<std::int64_t, inbox::LeasedRun> kept;  ///< are due again when given back
  std::vector<std::int64_t> skipped;
  std::vector<std::int64_t> renewed;
  std::vector<inbox::ClaimRequest> claims;     ///< those that found something, or were asked for more
  int all_claims = 0;
  std::optional<event::Microseconds> not_before;  ///< of the last claim
  int generation = 1;                             ///< of the connection
  std::uint64_t oldest_transaction = 1;           ///< 1: the one that is about to begin; 0: one stays open
  std::vector<std::int64_t> fences_in_vain;     ///< of claims while it was away,
  std::vector<std::int64_t> fences_given_back;  ///< and of those that were given back
  bool away = false;
  int asked_in_vain = 0;                       ///< while it was away
  std::set<std::int32_t> refused;  ///< handlers whose claims are refused
  int refusals = 0;
  std::optional<std::chrono::milliseconds> longest_statement;

  /// Under the lock.
  bool is_away() {
    if (away) ++asked_in_vain;
    return away;
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
  std::vector<std::int64_t> all_given_back() const {
    const std::lock_guard lock{mutex};
    auto out = given_back;
    std::sort(out.begin(), out.end());
    return out;
  }
  template <class Read>
  auto read(Read get) const {
    const std::lock_guard lock{mutex};
    return get(*this);
  }
};

inline inbox::DatabaseFailure gone() { return {inbox::Fault::reconnect, "", "away"}; }

class MemoryDeliveries final : public Deliveries {
 public:
  explicit MemoryDeliveries(Database& database) : database_{database} {}

  Answer<inbox::Claimed> claim(const inbox::ClaimRequest& request) override {
    const std::lock_guard lock{database_.mutex};
    ++database_.all_claims;
    database_.not_before = request.not_before;
    if (database_.is_away()) {
      database_.fences_in_vain.push_back(request.fence);
      return gone();
    }
    if (database_.refused.contains(request.handler_id)) {
      ++database_.refusals;
      return inbox::DatabaseFailure{inbox::Fault::stop, "42501", "not allowed"};
    }
    inbox::Claimed out;
    out.empty = std::exchange(database_.empty, {});
    out.over = std::exchange(database_.over, {});
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
      if (is_suspect && !out.runs.empty()) {  // taken alone
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
    if (database_.is_away()) return gone();
    return inbox::DueReading{std::nullopt, 1, database_.oldest_transaction, 1};
  }
  Answer<std::int64_t> renew(const std::vector<inbox::LeaseKey>& keys, std::chrono::milliseconds) override {
    return note(database_.renewed, keys);
  }
  Answer<std::int64_t> give_back(const std::vector<inbox::LeaseKey>& keys) override {
    {
      const std::lock_guard lock{database_.mutex};
      for (const auto& key : keys) {
        const auto at = database_.kept.find(key.delivery_id);
        if (at != database_.kept.end() && !database_.away) database_.due.push_back(at->second);
      }
    }
    return note(database_.given_back, keys);
  }
  Answer<std::int64_t> give_back_claims(std::int32_t, const std::vector<std::int64_t>& fences,
                                        std::chrono::milliseconds) override {
    const std::lock_guard lock{database_.mutex};
    if (database_.is_away()) return gone();
    auto& all = database_.fences_given_back;
    all.insert(all.end(), fences.begin(), fences.end());
    return static_cast<std::int64_t>(fences.size());
  }
  Answer<std::monostate> settle_skipped(const std::vector<inbox::LeaseKey>& keys) override {
    if (note(database_.skipped, keys).index() == 1) return gone();
    return std::monostate{};
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
    if (database_.is_away()) return gone();
    for (const auto& key : keys) to.push_back(key.delivery_id);
    return static_cast<std::int64_t>(keys.size());
  }
  Database& database_;
};

class MemoryStore final : public settler::Store {
 public:
  explicit MemoryStore(Database& database) : database_{database} {}
  settler::Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) override {
    const std::lock_guard lock{database_.mutex};
    if (database_.is_away()) return gone();
    database_.settled.insert(database_.settled.end(), settlements.begin(), settlements.end());
    return std::vector<inbox::LeaseKey>{};
  }

 private:
  Database& database_;
};

/// A handler that says what the test wants.
using Say = std::function<plugin::Verdict(const plugin::Delivered&, const plugin::Cancellation&)>;

class SayingInstance final : public plugin::Instance {
 public:
  explicit SayingInstance(Say say) : say_{std::move(say)} {}
  std::vector<plugin::Verdict> handle(std::span<const plugin::Delivered> events,
                                      const plugin::Cancellation& cancellation,
                                      std::chrono::steady_clock::time_point) override {
    std::vector<plugin::Verdict> out;
    for (const auto& each : events) out.push_back(say_(each, cancellation));
    return out;
  }

 private:
  Say say_;
};

inline plugin::Verdict say_done(const plugin::Delivered&, const plugin::Cancellation&) { return {}; }

inline plugin::Verdict retry(std::string error_class = "busy",
                             std::optional<std::chrono::milliseconds> delay = std::nullopt) {
  return {plugin::Verdict::Kind::retry, delay, std::move(error_class), "made up"};
}

/// Which offsets a handler saw, how often.
struct Seen {
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

/// A door that calls wait behind; what is needed of it outlives the test that forgot a call.
struct Door {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  std::atomic<int> inside{0};

  void pass() {
    ++inside;
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return open; });
    --inside;
  }
  void unlock() {
    const std::lock_guard lock{mutex};
    open = true;
    changed.notify_all();
  }
};

/// A handler whose every call waits there, and is done.
inline Say behind(const std::shared_ptr<Door>& door) {
  return [door](const plugin::Delivered&, const plugin::Cancellation&) {
    door->pass();
    return plugin::Verdict{};
  };
}

/// A dispatcher on top of these, with short times.
struct House {
  explicit House(config::Dispatch settings = {}) : House{settings, quick()} {}
  House(config::Dispatch settings, Dispatcher::Limits limits, inbox::TransactionFactory transactions = {})
      : settler{std::make_unique<MemoryStore>(database), log, settler::Settler::Limits{}},
        dispatcher{settings, std::make_unique<MemoryDeliveries>(database), settler, log, limits,
                   std::move(transactions)} {
    settler.start();
  }
  ~House() {
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
    limits.last_call = std::chrono::milliseconds{20};
    limits.claimer.trouble.first = std::chrono::milliseconds{1};
    limits.claimer.trouble.last = std::chrono::milliseconds{5};
    limits.watch.trouble = limits.claimer.trouble;
    return limits;
  }
  static config::Handler handler(int concurrency = 2, int events_per_call = 1) {
    config::Handler out;
    out.name = "test";
    out.concurrency = concurrency;
    out.events_per_call = events_per_call;
    return out;
  }
  static std::vector<dispatcher::HandlerSetup> setup(Say say, config::Handler settings = handler(),
                                                     bool paused = false) {
    std::vector<dispatcher::HandlerSetup> out;
    out.push_back({7, std::move(settings), std::make_unique<SayingInstance>(std::move(say)), paused});
    return out;
  }
  void run(Say say, config::Handler settings = handler()) {
    dispatcher.replace_handlers(setup(std::move(say), std::move(settings)));
    dispatcher.start();
  }
  /// The first claims have found that there is no backlog: births are possible.
  bool caught_up() {
    return eventually([&] { return !dispatcher.stats(7).backlog; });
  }
  /// What ingest does with a run that it stores.
  bool give(inbox::LeasedRun lease) {
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
  Database database;
  settler::Settler settler;
  Dispatcher dispatcher;
};

}  // namespace inboxd::test
