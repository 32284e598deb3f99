#include "settler/settler.hpp"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "base/mutex.hpp"
#include "inbox/answer.hpp"
#include "inbox/connection.hpp"

namespace inboxd::settler {
namespace {

class DatabaseStore final : public Store {
 public:
  DatabaseStore(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log)
      : owner_{owner}, connection_{database, "settler", watchdog, log} {
    connection_.prefer_indexes();
  }

  std::optional<inbox::DatabaseFailure> open() override {
    return inbox::failure_of([&] { connection_.open(); });
  }
  inbox::Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) override {
    return inbox::ask([&] { return inbox::settle(connection_, owner_, settlements); });
  }

 private:
  base::Uuid owner_;
  inbox::Connection connection_;
};

}  // namespace

Settler::Settler(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log)
    : Settler{std::make_unique<DatabaseStore>(database, owner, watchdog, log), log, Limits{}} {}

Settler::Settler(std::unique_ptr<Store> store, base::Logger& log, Limits limits)
    : store_{std::move(store)},
      log_{log},
      limits_{limits},
      failures_{log},
      backoff_{DatabaseBackoff::Part::settler, log, limits.backoff} {}

Settler::~Settler() {
  request_stop();
  join(Clock::now());
}

void Settler::start() {
  heartbeat_.beat();
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "settler");
}

void Settler::request_stop() {
  const base::Lock lock{mutex_};
  stopping_ = true;
  changed_.notify_all();
}

void Settler::join(Clock::time_point deadline) {
  {
    const base::Lock lock{mutex_};
    give_up_ = deadline;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Settler::report(std::vector<Report> reports, bool is_awaited) {
  std::int64_t events = 0;
  for (const Report& report : reports) events += static_cast<std::int64_t>(report.end - report.first);
  if (events == 0) return;
  unrecorded_ += events;
  bool wake = false;
  {
    const base::Lock lock{mutex_};
    if (reports_.empty()) {
      reports_ = std::move(reports);
    } else {
      reports_.insert(reports_.end(), std::make_move_iterator(reports.begin()), std::make_move_iterator(reports.end()));
    }
    is_awaited_ = is_awaited_ || is_awaited;
    wake = std::exchange(sleeping_, false) || is_awaited;
  }
  if (wake) changed_.notify_all();
}

void Settler::count_committed(const Run& run, const RunSettlement& committed) {
  count(run, committed.settlement, committed.counts, Clock::now());
}

void Settler::count(const Run& run, const inbox::Settlement& settlement, const EventCounts& counts,
                    Clock::time_point now) {
  counters_.done += static_cast<std::uint64_t>(counts.done);
  counters_.retried += static_cast<std::uint64_t>(counts.retried);
  counters_.dead += static_cast<std::uint64_t>(counts.dead);
  counters_.expired += static_cast<std::uint64_t>(counts.expired);
  outcomes_.recorded(run, settlement, counts);
  failures_.recorded(run, settlement, now);
  if (counts.events() == counts.waiting) return;  // none was called
  const auto failed = static_cast<std::int64_t>(settlement.failures.size());
  run.owner->recorded(counts.done + counts.skipped, failed, failed == 0 ? "" : settlement.failures.back().error_class);
}

void Settler::count_lost(const Run& run) {
  ++counters_.lost;
  outcomes_.lease_lost(run.lease.handler_id);
}

bool Settler::flush(Clock::time_point deadline) {
  base::Lock lock{mutex_};
  const std::uint64_t wanted = ++flush_wanted_;
  changed_.notify_all();
  return changed_.wait_until(lock, deadline, [&]() REQUIRES(mutex_) { return flushed_ >= wanted; });
}

void Settler::run() {
  // Before the first outcome: then handlers may have used up the connections or descriptors.
  if (const auto failure = store_->open()) backoff_.failed(*failure, Clock::now());
  for (;;) {
    add(collect());
    while (is_due(Clock::now())) {
      Batch batch = take_batch(Clock::now());
      if (!write(batch)) {
        log_.warn("settler.outcomes_unrecorded", {{"events", unrecorded_.load()}});
        return;
      }
    }
    heartbeat_.beat();
    finish_flush();
    const base::Lock lock{mutex_};
    if (stopping_ && reports_.empty() && reported_.empty()) return;
  }
}

/// Waits for work and takes the reports.
std::vector<Report> Settler::collect() {
  base::Lock lock{mutex_};
  const auto asked = [&]() REQUIRES(mutex_) { return stopping_ || flush_wanted_ > flushed_; };
  sleeping_ = reported_.empty();
  const bool waits_for_report = sleeping_;
  if (!asked() && !is_awaited_ && (!waits_for_report || reports_.empty())) {
    changed_.wait_until(lock, next_turn(Clock::now()),
                        [&]() REQUIRES(mutex_) {
                          return asked() || is_awaited_ || (waits_for_report && !reports_.empty());
                        });
  }
  sleeping_ = false;
  flush_all_ = asked();
  is_awaiting_ = std::exchange(is_awaited_, false) || (is_awaiting_ && !reported_.empty());
  flushing_ = flush_wanted_;
  return std::exchange(reports_, {});
}

Settler::Clock::time_point Settler::next_turn(Clock::time_point now) const {
  if (reported_.empty()) return now + limits_.turn;
  auto turn = now + limits_.linger;  // reports may have come meanwhile
  if (!finished_.empty()) turn = std::min(turn, finished_.front().since + limits_.linger);
  if (!unfinished_.empty()) turn = std::min(turn, unfinished_.front().since + hold());
  return turn;
}

void Settler::add(std::vector<Report> reports) {
  const auto now = Clock::now();
  for (Report& report : reports) {
    const std::shared_ptr<Run> run = report.run;
    if (run->lost) {
      const auto events = static_cast<std::int64_t>(report.end - report.first);
      unrecorded_ -= events;
      run->owner->lost(*run, events);
      continue;
    }
    const auto [at, is_new] = reported_.try_emplace(run.get(), ReportedRun{SettlementBuilder{run}, next_ticket_, now});
    ReportedRun& reported = at->second;
    reported.builder.add(std::move(report));
    if (!reported.is_finished && reported.builder.complete()) {
      reported.is_finished = true;
      finished_.push_back({now, reported.ticket, run.get()});
    } else if (is_new) {
      unfinished_.push_back({now, reported.ticket, run.get()});
    }
    if (is_new) ++next_ticket_;
  }
  // Drop the entries of runs that were recorded or completed meanwhile.
  while (!unfinished_.empty()) {
    const auto at = reported_.find(unfinished_.front().run);
    if (at != reported_.end() && at->second.ticket == unfinished_.front().ticket && !at->second.is_finished) break;
    unfinished_.pop_front();
  }
}

std::chrono::milliseconds Settler::hold() const { return is_awaiting_ ? limits_.awaited_hold : limits_.hold; }

/// Events that wait for an outcome get it at once if the run is finished. An unfinished run may finish in a moment, and
/// its parts would cost more than the whole.
bool Settler::is_due(Clock::time_point now) const {
  if (reported_.empty()) return false;
  if (flush_all_ || finished_.size() >= limits_.deliveries) return true;
  return (!finished_.empty() && (is_awaiting_ || finished_.front().since + limits_.linger <= now)) ||
         (!unfinished_.empty() && unfinished_.front().since + hold() <= now);
}

Settler::Batch Settler::take_batch(Clock::time_point now) {
  Batch batch;
  take_from(finished_, std::nullopt, batch);
  take_from(unfinished_, flush_all_ ? std::nullopt : std::optional{now - hold()}, batch);
  return batch;
}

void Settler::take_from(std::deque<QueuedRun>& queue, std::optional<Clock::time_point> older_than, Batch& batch) {
  // A delivery that was lost and claimed again may be here under two fences: they must not share a transaction.
  std::unordered_set<std::int64_t> ids;
  for (const auto& settlement : batch.settlements) ids.insert(settlement.key.delivery_id);
  std::deque<QueuedRun> later;
  while (!queue.empty() && batch.settlements.size() < limits_.deliveries) {
    const QueuedRun due = queue.front();
    if (older_than && due.since > *older_than) break;
    queue.pop_front();
    const auto at = reported_.find(due.run);
    if (at == reported_.end() || at->second.ticket != due.ticket) continue;
    if (!ids.insert(due.run->lease.key.delivery_id).second) {
      later.push_back(due);
      continue;
    }
    RunSettlement taken = at->second.builder.take(random01());
    batch.settlements.push_back(std::move(taken.settlement));
    batch.counts.push_back(taken.counts);
    batch.keys.push_back(std::move(taken.keys));
    batch.runs.push_back(at->second.builder.run());
    reported_.erase(at);
  }
  queue.insert(queue.begin(), later.begin(), later.end());
}

/// Writes a batch and retries until it is recorded. False if a stop ended the retries.
bool Settler::write(Batch& batch) {
  if (batch.settlements.empty()) return true;
  bool was_in_doubt = false;
  bool is_plain = false;
  for (;;) {
    auto answer = store_->settle(batch.settlements);
    ++counters_.transactions;
    heartbeat_.beat();
    if (const auto* lost = std::get_if<0>(&answer)) {
      backoff_.worked();
      note_recorded(batch, *lost, was_in_doubt);
      return true;
    }
    const auto& failure = std::get<1>(answer);
    was_in_doubt = was_in_doubt || failure.fault == inbox::Fault::in_doubt;
    const auto wait = backoff_.failed(failure, Clock::now());
    if (failure.fault == inbox::Fault::poison && !std::exchange(is_plain, true)) {
      inbox::make_ascii(batch.settlements);
    } else if (!pause(wait)) {
      return false;
    }
  }
}

/// Waits before a retry; false if a stop leaves no time for it.
bool Settler::pause(std::chrono::milliseconds wait) {
  const auto until = Clock::now() + wait;
  base::Lock lock{mutex_};
  while (Clock::now() < until) {
    if (stopping_ && Clock::now() >= give_up_) return false;
    const auto turn = std::min(until, Clock::now() + limits_.turn);
    changed_.wait_until(lock, stopping_ ? std::min(turn, give_up_) : turn);
    heartbeat_.beat();
  }
  return !(stopping_ && Clock::now() >= give_up_);
}

void Settler::note_recorded(Batch& batch, const std::vector<inbox::LeaseKey>& lost, bool was_in_doubt) {
  std::unordered_set<std::int64_t> lost_ids;
  for (const auto& key : lost) lost_ids.insert(key.delivery_id);
  const auto now = Clock::now();
  std::int64_t lost_events = 0;
  for (std::size_t i = 0; i < batch.runs.size(); ++i) {
    Run& run = *batch.runs[i];
    const EventCounts& counts = batch.counts[i];
    const bool is_lost = lost_ids.contains(run.lease.key.delivery_id);
    // After an attempt in doubt, `lost` also names the leases that this attempt settled. They do not count as lost, and
    // a lease that is really lost shows at the run's next settlement. In a sequence that would be too late: if the
    // attempt has failed and a restart of the server has changed the fence, the key's next event would run, and then
    // this one again.
    if (is_lost && (!was_in_doubt || run.lease.sequence)) {
      if (!was_in_doubt) {
        lost_events += counts.events();
        count_lost(run);
      }
      note_lost(run, counts.events());
    } else {
      run.recorded += static_cast<std::size_t>(counts.events());
      count(run, batch.settlements[i], counts, now);
      for (const auto& group : batch.settlements[i].retries) run.owner->retry_at(now + group.delay);
      if (run.is_in_order()) run.owner->settled_in_order(run, batch.keys[i]);
      run.owner->settled(run, counts.events());
    }
    unrecorded_ -= counts.events();
  }
  if (lost_events > 0) {
    log_.warn("settler.leases_lost", {{"deliveries", lost_ids.size()}, {"events", lost_events}});
  }
}

/// `events`: of the settlement that was refused.
void Settler::note_lost(Run& run, std::int64_t events) {
  run.lost = true;
  std::int64_t reported = 0;
  if (const auto at = reported_.find(&run); at != reported_.end()) {
    reported = static_cast<std::int64_t>(at->second.builder.events());
    reported_.erase(at);
  }
  unrecorded_ -= reported;
  run.owner->lost(run, events + reported);
}

void Settler::finish_flush() {
  if (!reported_.empty()) return;
  const base::Lock lock{mutex_};
  if (flushing_ > flushed_) {
    flushed_ = flushing_;
    changed_.notify_all();
  }
}

}  // namespace inboxd::settler
