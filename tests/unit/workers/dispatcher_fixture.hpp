#pragma once
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/settler/runs.hpp"
#include "unit/workers/test_handlers.hpp"
#include "workers/dispatcher.hpp"

/// A dispatcher and a settler on a database in memory.
namespace inboxd::test {

using dispatcher::Dispatcher;

inline std::int64_t done_in(const std::vector<inbox::Settlement>& settled) {
  std::int64_t out = 0;
  for (const auto& each : settled) out += each.done.count();
  return out;
}

template <class Part>
std::vector<Part> all_of(const std::vector<inbox::Settlement>& settled, std::vector<Part> inbox::Settlement::*part) {
  std::vector<Part> out;
  for (const auto& each : settled) out.insert(out.end(), (each.*part).begin(), (each.*part).end());
  return out;
}

/// The error classes of failures.
using Classes = std::vector<std::string>;
inline Classes classes_of(const std::vector<inbox::FailedAttempt>& failures) {
  Classes out;
  for (const auto& each : failures) out.push_back(each.error_class);
  return out;
}

/// Due deliveries, their outcomes, and the calls made. Shared by FakeVisit and FakeStore.
struct FakeDatabase {
  mutable std::mutex mutex;
  std::deque<inbox::LeasedRun> due;
  std::vector<inbox::LeaseKey> empty, excess;
  std::vector<inbox::Settlement> settled;
  std::map<std::int64_t, inbox::LeasedRun> due_again;  ///< once released
  std::vector<std::int64_t> released, skipped, renewed;
  std::vector<inbox::ClaimRequest> claims;  ///< those that found something
  int all_claims = 0;
  std::optional<event::Microseconds> not_before;  ///< of the last claim
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  int generation = 1;                    ///< of the connection
  std::uint64_t oldest_transaction = 1;  ///< xmin of a reading (xmax is 1); 0: a transaction stays open
  std::vector<std::int64_t> lost_fences, released_fences;  ///< of claims while it was away
  bool away = false;
  std::set<std::int32_t> refused;  ///< the claims of these handlers are refused
  int refusals = 0;
  std::optional<std::chrono::milliseconds> max_statement;
  std::deque<inbox::LeasedRun> due_in_order;  ///< for handlers that keep order: log rows and rows of lanes
  std::vector<std::int32_t> taken_sequences;
  int claims_in_order = 0;
  int lost_claims_in_order = 0;  ///< so many of the next ones get no answer

  /// Counts a claim, also one that gets no answer. Under the lock.
  void note(const dispatcher::Request& request) {
    if (std::holds_alternative<dispatcher::ClaimInOrder>(request)) ++claims_in_order;
    const auto* const claim = std::get_if<dispatcher::Claim>(&request);
    if (claim == nullptr) return;
    ++all_claims;
    not_before = claim->request.not_before;
    if (away) lost_fences.push_back(claim->request.fence);
  }
  /// `again`: also once it was released.
  void add(inbox::LeasedRun lease, bool again = false) {
    const std::lock_guard lock{mutex};
    if (again) due_again.emplace(lease.key.delivery_id, lease);
    due.push_back(std::move(lease));
  }
  void add_in_order(inbox::LeasedRun lease) {
    const std::lock_guard lock{mutex};
    due_in_order.push_back(std::move(lease));
  }
  std::int64_t done() const {
    const std::lock_guard lock{mutex};
    return done_in(settled);
  }
  /// Of all settlements.
  template <class Part>
  std::vector<Part> all(std::vector<Part> inbox::Settlement::*part) const {
    const std::lock_guard lock{mutex};
    return all_of(settled, part);
  }
  std::vector<std::int64_t> all_released() const {
    const std::lock_guard lock{mutex};
    auto out = released;
    std::sort(out.begin(), out.end());
    return out;
  }
  template <class Read>
  auto read(Read get) const {
    const std::lock_guard lock{mutex};
    return get(*this);
  }
  template <class Value>
  Value get(Value FakeDatabase::*member) const {
    const std::lock_guard lock{mutex};
    return this->*member;
  }
  template <class Value>
  void set(Value FakeDatabase::*member, Value to) {
    const std::lock_guard lock{mutex};
    this->*member = to;
  }
};

inline inbox::DatabaseFailure disconnected() { return {inbox::Fault::reconnect, "", "away"}; }

/// The answers of a fake database to the claimer's questions. In order: this process is the only one.
struct FakeVisit {
  using Answer = dispatcher::Answer;
  FakeDatabase& database;  ///< locked, and not away

  // A single process needs no answer to most questions.
  template <class Question>
  Answer operator()(const Question&) const {
    return typename Question::Result{};
  }
  Answer operator()(const dispatcher::RenewLeases& it) const { return note(database.renewed, it.keys); }
  Answer operator()(const dispatcher::ReleaseLeases& it) const {
    for (const auto& key : it.keys) {
      const auto at = database.due_again.find(key.delivery_id);
      if (at != database.due_again.end()) database.due.push_back(at->second);
    }
    note(database.released, it.keys);
    return std::monostate{};
  }
  Answer operator()(const dispatcher::ReleaseClaims& it) const {
    append(database.released_fences, it.fences);
    return std::monostate{};
  }
  Answer operator()(const dispatcher::SettleSkipped& it) const {
    note(database.skipped, it.keys);
    return std::monostate{};
  }
  Answer operator()(const dispatcher::FindDue& it) const { return it.handlers; }
  Answer operator()(const dispatcher::ReadDue&) const {
    const auto age = std::chrono::steady_clock::now() - database.started;
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(age).count();
    return inbox::DueReading{std::nullopt, now, database.oldest_transaction, 1};
  }
  Answer operator()(const dispatcher::TakeSequences& it) const {
    append(database.taken_sequences, it.wanted);
    return it.wanted;
  }
  Answer operator()(const dispatcher::RenewSequences& it) const {
    std::vector<inbox::RenewedSequence> out;
    for (const auto& key : it.keys) out.push_back({key.sequence});
    return out;
  }
  Answer operator()(const dispatcher::CheckLanes& it) const { return dispatcher::CheckLanes::Result{it.lanes, {}}; }
  Answer operator()(const dispatcher::Claim& it) const { return claim(it.request); }
  Answer operator()(const dispatcher::ClaimInOrder& it) const { return claim_in_order(it.request); }

 private:
  Answer claim(const inbox::ClaimRequest& request) const {
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
  Answer claim_in_order(const inbox::ClaimInOrderRequest& request) const {
    if (database.lost_claims_in_order > 0 && !database.due_in_order.empty()) {
      --database.lost_claims_in_order;
      return disconnected();
    }
    inbox::ClaimedInOrder out;
    using State = inbox::SequenceRead::State;
    for (const auto& read : request.read) {
      State state = State::end;
      const std::size_t before = out.claimed.runs.size();
      auto& due = database.due_in_order;
      for (auto at = due.begin(); at != due.end() && state == State::end;) {
        if (at->sequence.value_or(read.sequence) != read.sequence) {
          ++at;
          continue;
        }
        const bool is_suspect = inbox::is_suspect(*at);  // claimed alone
        if (is_suspect) state = State::more;
        if (is_suspect && out.claimed.runs.size() > before) break;
        out.claimed.runs.push_back(std::move(*at));
        at = due.erase(at);
      }
      out.sequences.push_back({read.sequence, state, 0, -1});
    }
    return out;
  }
  template <class Value>
  static void append(std::vector<Value>& to, const std::vector<Value>& all) {
    to.insert(to.end(), all.begin(), all.end());
  }
  static std::int64_t note(std::vector<std::int64_t>& to, const std::vector<inbox::LeaseKey>& keys) {
    for (const auto& key : keys) to.push_back(key.delivery_id);
    return static_cast<std::int64_t>(keys.size());
  }
};

inline dispatcher::AskDatabase ask(FakeDatabase& database) {
  return [&database](const dispatcher::Request& request, const dispatcher::VisitLimit& limit) {
    const std::lock_guard lock{database.mutex};
    database.max_statement = limit.longest;
    database.note(request);
    if (database.away) return dispatcher::Reply{disconnected(), database.generation};
    return dispatcher::Reply{std::visit(FakeVisit{database}, request), database.generation};
  };
}

class FakeStore final : public settler::Store {
 public:
  explicit FakeStore(FakeDatabase& database) : database_{database} {}
  inbox::Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) override {
    const std::lock_guard lock{database_.mutex};
    if (database_.away) return disconnected();
    database_.settled.insert(database_.settled.end(), settlements.begin(), settlements.end());
    return std::vector<inbox::LeaseKey>{};
  }

 private:
  FakeDatabase& database_;
};

inline config::Dispatch polling(std::chrono::milliseconds interval) {
  config::Dispatch out;
  out.poll = interval;
  return out;
}
/// Only notices make the claimer ask.
inline config::Dispatch never_polling() { return polling(std::chrono::seconds{600}); }

/// A dispatcher and a settler with short times. Its functions with a result wait for it.
struct DispatcherFixture {
  explicit DispatcherFixture(config::Dispatch settings = {}, Dispatcher::Limits limits = quick(),
                             transaction::TransactionFactory transactions = {})
      : settler{std::make_unique<FakeStore>(database), log, settler::Settler::Limits{}},
        dispatcher{settings, ask(database), settler, log, limits, std::move(transactions)} {
    settler.start();
  }
  ~DispatcherFixture() {
    stop();
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
  /// Calls past their deadline are cancelled but never given up.
  static Dispatcher::Limits patient() {
    auto limits = quick();
    limits.watch.grace = std::chrono::seconds{600};
    return limits;
  }

  /// Starts, beside deliveries that are due.
  void start(Setups handlers) {
    dispatcher.replace_handlers(std::move(handlers));
    dispatcher.start();
  }
  /// The first claims have found no backlog: ingest can hand runs over.
  void run(Setups handlers) {
    start(std::move(handlers));
    REQUIRE(caught_up());
  }
  void run(HandlerFunction function, config::Handler settings = handler()) {
    run(setup(std::move(function), std::move(settings)));
  }
  void reload(HandlerFunction function, config::Handler settings = handler()) {
    dispatcher.replace_handlers(setup(std::move(function), std::move(settings)));
  }
  void stop(std::chrono::milliseconds time = {}) {
    dispatcher.request_stop();
    dispatcher.join(std::chrono::steady_clock::now() + time);
  }

  /// Stores a run as ingest does; false if there is no room to hand it over.
  bool may_ingest(inbox::LeasedRun lease) {
    const auto events = static_cast<std::int64_t>(lease.events.size());
    const auto room = dispatcher.reserve(lease.handler_id, events, 100);
    if (room.events < events) {
      dispatcher.release(lease.handler_id, room.events);
      return false;
    }
    dispatcher.hand_over(std::move(lease), events);
    return true;
  }
  void ingest(const Ids& offsets, std::int64_t delivery_id = 1) { REQUIRE(may_ingest(lease_of(offsets, delivery_id))); }

  bool caught_up(std::int32_t handler_id = 7) {
    return eventually([&] { return !dispatcher.stats(handler_id).backlog; });
  }
  bool idle() {
    return eventually([&] { return dispatcher.idle(); });
  }
  bool done(std::int64_t events) {
    return eventually([&] { return database.done() == events; });
  }
  bool retried(std::uint64_t events) {
    return eventually([&] { return settler.counters().retried == events; });
  }
  /// Soon exactly these deliveries are released.
  bool released(const Ids& ids) {
    return eventually([&] { return database.all_released() == ids; });
  }
  Classes classes() const { return classes_of(failures()); }
  std::vector<inbox::FailedAttempt> failures() const { return database.all(&inbox::Settlement::failures); }
  dispatcher::Stats stats() const { return dispatcher.stats(7); }
  /// Soon the handler's figure has that value.
  template <class Value>
  bool becomes(Value dispatcher::Stats::*figure, Value value) {
    return eventually([&] { return stats().*figure == value; });
  }
  bool abandoned(int threads) { return becomes(&dispatcher::Stats::abandoned, threads); }

  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  FakeDatabase database;
  settler::Settler settler;
  Dispatcher dispatcher;
};

}  // namespace inboxd::test
