#include "settler/settler.hpp"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace inboxd::settler {

Settler::Settler(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log)
    : Settler{database_store(database, owner, watchdog, log), log, Limits{}} {}

Settler::Settler(std::unique_ptr<Store> store, base::Logger& log, Limits limits)
    : store_{std::move(store)}, log_{log}, limits_{limits}, failures_{log}, trouble_{"settler", log, limits.trouble} {
  progress();
}

Settler::~Settler() {
  request_stop();
  join(Clock::now());
}

void Settler::start() {
  progress();
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "settler");
}

void Settler::request_stop() {
  const std::lock_guard lock{mutex_};
  stopping_ = true;
  changed_.notify_all();
}

void Settler::join(Clock::time_point deadline) {
  {
    const std::lock_guard lock{mutex_};
    give_up_ = deadline;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Settler::report(std::vector<Report> reports) {
  std::int64_t events = 0;
  for (const Report& report : reports) events += static_cast<std::int64_t>(report.end - report.first);
  if (events == 0) return;
  unrecorded_ += events;
  bool wake = false;
  {
    const std::lock_guard lock{mutex_};
    if (reports_.empty()) {
      reports_ = std::move(reports);
    } else {
      reports_.insert(reports_.end(), std::make_move_iterator(reports.begin()), std::make_move_iterator(reports.end()));
    }
    wake = std::exchange(sleeping_, false);
  }
  if (wake) changed_.notify_all();
}

void Settler::note_elsewhere(const Run& run, const Gathered& recorded) {
  count(run, recorded, recorded.settlement, Clock::now());
}

void Settler::count(const Run& run, const Gathered& sum, const inbox::Settlement& settlement, Clock::time_point now) {
  counters_.done += static_cast<std::uint64_t>(sum.done);
  counters_.retried += static_cast<std::uint64_t>(sum.retried);
  counters_.dead += static_cast<std::uint64_t>(sum.dead);
  tallies_.recorded(run, settlement, sum.done, sum.retried, sum.dead);
  failures_.recorded(run, settlement, now);
}

void Settler::note_lost_elsewhere(const Run& run) {
  ++counters_.lost;
  tallies_.lease_lost(run.lease.handler_id);
}

bool Settler::flush(Clock::time_point deadline) {
  std::unique_lock lock{mutex_};
  const std::uint64_t wanted = ++flush_wanted_;
  changed_.notify_all();
  return changed_.wait_until(lock, deadline, [&] { return flushed_ >= wanted; });
}

Settler::Clock::time_point Settler::last_progress() const {
  return Clock::time_point{Clock::duration{progress_.load()}};
}

void Settler::progress() { progress_ = Clock::now().time_since_epoch().count(); }

void Settler::run() {
  for (;;) {
    gather(collect());
    while (is_due(Clock::now())) {
      Batch batch = take_batch(Clock::now());
      if (!write(batch)) {
        log_.warn("settler: stopped with outcomes that are not recorded; those events run again",
                  {{"events", unrecorded_.load()}});
        return;
      }
    }
    progress();
    finish_flush();
    const std::lock_guard lock{mutex_};
    if (stopping_ && reports_.empty() && held_.empty()) return;
  }
}

/// Waits until there is something to do and takes over what was reported.
std::vector<Report> Settler::collect() {
  std::unique_lock lock{mutex_};
  const auto asked = [&] { return stopping_ || flush_wanted_ > flushed_; };
  sleeping_ = held_.empty();
  const bool waits_for_report = sleeping_;
  if (!asked() && (!waits_for_report || reports_.empty())) {
    changed_.wait_until(lock, next_turn(Clock::now()),
                        [&] { return asked() || (waits_for_report && !reports_.empty()); });
  }
  sleeping_ = false;
  hurry_ = asked();
  flushing_ = flush_wanted_;
  return std::exchange(reports_, {});
}

Settler::Clock::time_point Settler::next_turn(Clock::time_point now) const {
  if (held_.empty()) return now + limits_.turn;
  auto turn = now + limits_.linger;  // to see whether more was reported meanwhile
  if (!finished_.empty()) turn = std::min(turn, finished_.front().since + limits_.linger);
  if (!unfinished_.empty()) turn = std::min(turn, unfinished_.front().since + limits_.hold);
  return turn;
}

void Settler::gather(std::vector<Report> reports) {
  const auto now = Clock::now();
  for (Report& report : reports) {
    const std::shared_ptr<Run> run = report.run;
    if (run->lost) {
      unrecorded_ -= static_cast<std::int64_t>(report.end - report.first);
      continue;
    }
    const auto [at, is_new] = held_.try_emplace(run.get(), Held{Gathering{run}, next_ticket_, now});
    Held& held = at->second;
    held.gathering.add(std::move(report));
    if (!held.is_finished && held.gathering.complete()) {
      held.is_finished = true;
      finished_.push_back({now, held.ticket, run.get()});
    } else if (is_new) {
      unfinished_.push_back({now, held.ticket, run.get()});
    }
    if (is_new) ++next_ticket_;
  }
  // Nobody waits for those that were recorded or completed meanwhile.
  while (!unfinished_.empty()) {
    const auto at = held_.find(unfinished_.front().run);
    if (at != held_.end() && at->second.ticket == unfinished_.front().ticket && !at->second.is_finished) break;
    unfinished_.pop_front();
  }
}

bool Settler::is_due(Clock::time_point now) const {
  if (held_.empty()) return false;
  if (hurry_ || finished_.size() >= limits_.deliveries) return true;
  return (!finished_.empty() && finished_.front().since + limits_.linger <= now) ||
         (!unfinished_.empty() && unfinished_.front().since + limits_.hold <= now);
}

Settler::Batch Settler::take_batch(Clock::time_point now) {
  Batch batch;
  take_from(finished_, std::nullopt, batch);
  take_from(unfinished_, hurry_ ? std::nullopt : std::optional{now - limits_.hold}, batch);
  return batch;
}

void Settler::take_from(std::deque<Due>& queue, std::optional<Clock::time_point> older_than, Batch& batch) {
  // A delivery that was lost and claimed again may be here under both fences: one transaction must not have both.
  std::unordered_set<std::int64_t> ids;
  for (const auto& settlement : batch.settlements) ids.insert(settlement.key.delivery_id);
  std::deque<Due> later;
  while (!queue.empty() && batch.settlements.size() < limits_.deliveries) {
    const Due due = queue.front();
    if (older_than && due.since > *older_than) break;
    queue.pop_front();
    const auto at = held_.find(due.run);
    if (at == held_.end() || at->second.ticket != due.ticket) continue;
    if (!ids.insert(due.run->lease.key.delivery_id).second) {
      later.push_back(due);
      continue;
    }
    Gathered gathered = at->second.gathering.take(random01());
    batch.settlements.push_back(std::move(gathered.settlement));
    batch.sums.push_back(std::move(gathered));
    batch.runs.push_back(at->second.gathering.run());
    held_.erase(at);
  }
  queue.insert(queue.begin(), later.begin(), later.end());
}

/// Writes a batch, as often as it takes. False where it was given up because of a stop.
bool Settler::write(Batch& batch) {
  if (batch.settlements.empty()) return true;
  bool was_in_doubt = false;
  bool is_plain = false;
  for (;;) {
    auto answer = store_->settle(batch.settlements);
    ++counters_.transactions;
    progress();
    if (const auto* lost = std::get_if<0>(&answer)) {
      trouble_.worked();
      note_recorded(batch, *lost, was_in_doubt);
      return true;
    }
    const auto& failure = std::get<1>(answer);
    was_in_doubt = was_in_doubt || failure.fault == inbox::Fault::in_doubt;
    const auto wait = trouble_.failed(failure, Clock::now());
    if (failure.fault == inbox::Fault::poison && !std::exchange(is_plain, true)) {
      inbox::make_plain(batch.settlements);
    } else if (!pause(wait)) {
      return false;
    }
  }
}

/// False where a stop does not allow for another try.
bool Settler::pause(std::chrono::milliseconds wait) {
  const auto until = Clock::now() + wait;
  std::unique_lock lock{mutex_};
  while (Clock::now() < until) {
    if (stopping_ && Clock::now() >= give_up_) return false;
    const auto turn = std::min(until, Clock::now() + limits_.turn);
    changed_.wait_until(lock, stopping_ ? std::min(turn, give_up_) : turn);
    progress();
  }
  return !(stopping_ && Clock::now() >= give_up_);
}

void Settler::note_recorded(Batch& batch, const std::vector<inbox::LeaseKey>& lost, bool was_in_doubt) {
  std::unordered_set<std::int64_t> lost_ids;
  // After a try in doubt, `lost` also names what that try has recorded; a later settlement of the same run tells.
  if (!was_in_doubt) {
    for (const auto& key : lost) lost_ids.insert(key.delivery_id);
  }
  const auto now = Clock::now();
  std::int64_t lost_events = 0;
  for (std::size_t i = 0; i < batch.runs.size(); ++i) {
    Run& run = *batch.runs[i];
    const Gathered& sum = batch.sums[i];
    if (lost_ids.contains(run.lease.key.delivery_id)) {
      lost_events += sum.events();
      note_lost(run);
    } else {
      run.recorded += static_cast<std::size_t>(sum.events());
      count(run, sum, batch.settlements[i], now);
      for (const auto& group : batch.settlements[i].retries) run.holder->retry_at(now + group.delay);
      run.holder->settled(run, sum.events());
    }
    unrecorded_ -= sum.events();
  }
  if (!lost_ids.empty()) {
    log_.warn("settler: leases were lost, what the handlers said of their events is dropped",
              {{"deliveries", lost_ids.size()}, {"events", lost_events}});
  }
}

void Settler::note_lost(Run& run) {
  ++counters_.lost;
  tallies_.lease_lost(run.lease.handler_id);
  run.lost = true;
  if (const auto at = held_.find(&run); at != held_.end()) {
    unrecorded_ -= static_cast<std::int64_t>(at->second.gathering.events());
    held_.erase(at);
  }
  run.holder->lost(run);
}

void Settler::finish_flush() {
  if (!held_.empty()) return;
  const std::lock_guard lock{mutex_};
  if (flushing_ > flushed_) {
    flushed_ = flushing_;
    changed_.notify_all();
  }
}

}  // namespace inboxd::settler
