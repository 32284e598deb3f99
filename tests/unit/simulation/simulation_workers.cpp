// Simulation: workers, their transactions, and the settler.
#include <algorithm>
#include <array>
#include <deque>

#include "unit/simulation/simulation.hpp"

namespace inboxd::test {

using namespace dispatcher;
using std::chrono::milliseconds;

// ---- workers

/// A call begins: no event of it was called under its fence, and all before it of its key have outcomes, or are before
/// it in the same transaction.
void Simulation::note_call(const SimulatedInstance& instance, SimulatedInstance::Worker& worker) {
  if (!settings_.needs.sql) worker.open.clear();
  const auto call = worker.batch->call_slices();
  for (const RunSlice& slice : call) {
    const inbox::LeasedRun& lease = slice.run->lease;
    for (std::size_t i = slice.first; i < slice.end; ++i) {
      const Place place{lease.shard_id, lease.events[i]->offset};
      const auto [called, is_new] = calls_.emplace(lease.key.delivery_id, lease.key.fence, place.second);
      if (!is_new) {
        violation_ = "a second call of " + std::to_string(place.second) + " under one fence";
      }
      const auto row = database_.rows.find(lease.key.delivery_id);
      if (database_.order == "batch" && database_.owns(instance.owner, lease) && !database_.is_in_window(row->second)) {
        violation_ = "a call of " + std::to_string(place.second) + " outside its window";
      }
      const bool is_checked = database_.order != "batch" && lease.sequence && key_of(place) != 0 &&
                              database_.owns_row_and_sequence(instance.owner, lease);
      const auto earlier = is_checked ? database_.earlier_of_key(place) : std::nullopt;
      if (earlier && !worker.open.contains(*earlier)) {
        violation_ = "a call of " + std::to_string(place.first) + ":" + std::to_string(place.second) +
                     " before the outcome of " + std::to_string(earlier->second);
      }
      ++called_;
      if (is_checked && is_called_elsewhere(instance, place)) {
        violation_ = "calls of one key at once, " + std::to_string(place.first) + ":" + std::to_string(place.second);
      }
      worker.open.emplace(place, *called);
    }
  }
}

/// An event of the key is being called elsewhere, by an instance that does not know of a lost lease.
bool Simulation::is_called_elsewhere(const SimulatedInstance& here, const Place& place) const {
  for (const auto& instance : instances_) {
    for (const auto& worker : instance->pool) {
      if (instance.get() == &here || !worker.is_calling || worker.version != database_.version) continue;
      for (const RunSlice& slice : worker.batch->call_slices()) {
        const inbox::LeasedRun& lease = slice.run->lease;
        const bool is_overdue = slice.run->leased_until.load() <= now_;
        if (is_overdue || !lease.sequence || lease.shard_id != place.first) continue;
        for (std::size_t i = slice.first; i < slice.end; ++i) {
          if (key_of({lease.shard_id, lease.events[i]->offset}) == key_of(place)) return true;
        }
      }
    }
  }
  return false;
}

void Simulation::work(SimulatedInstance& instance, std::size_t number, std::uint32_t random) {
  auto& worker = instance.pool[number];
  HandlerQueue& queue = instance.queue;
  if (!worker.batch) {
    queue.worked(std::exchange(worker.work, {}));
    auto taken = queue.take(now_);
    instance.changed();
    worker.work.had_events = taken.had_events;
    instance.report(std::move(taken.uncalled));
    worker.is_asleep = taken.empty();
    if (taken.slices.empty()) return;
    worker.is_on_trial = queue.state().admission.tries_one();
    worker.batch.emplace(std::move(taken.slices));
    return check_limits(worker);
  }
  WorkBatch& batch = *worker.batch;
  // The overseer takes the events that no call has begun with.
  if (!is_calm_ && random >> 27 == 0) put_back(instance, batch.take_rest());
  if (!worker.is_calling) {
    const auto most = static_cast<std::size_t>(settings_.handler.events_per_call);
    if (!batch.is_next_taken(now_) && batch.begin_call(most)) {
      note_call(instance, worker);
      worker.is_calling = true;
      const auto call = batch.call_slices();
      const bool owns = std::all_of(call.begin(), call.end(), [&](const RunSlice& slice) {
        return database_.owns(instance.owner, slice.run->lease);
      });
      worker.version = owns ? std::optional{database_.version} : std::nullopt;
      return;
    }
    if (settings_.needs.sql) {
      commit(instance, worker);
    } else {
      instance.report(batch.take_finished());
    }
    put_back(instance, batch.take_rest());
    worker.batch.reset();
    worker.is_on_trial = false;
    return instance.changed();
  }
  if (!is_calm_ && random % 4 != 0) return;  // the call takes longer
  std::vector<event::Verdict> verdicts(batch.call_size());
  using Cancelled = WorkBatch::Cancelled;
  const auto cancelled = std::array{Cancelled::interrupted, Cancelled::one_by_one, Cancelled::failed};
  const auto how = is_calm_ ? Cancelled::failed : cancelled[std::min(random >> 24 & 31, 2U)];
  for (event::Verdict& verdict : verdicts) {
    using Verdict = event::Verdict::Kind;
    random = random * 1'664'525 + 1'013'904'223;
    const auto dice = is_calm_ ? 15 : random >> 28;
    verdict.kind = dice < 3 ? Verdict::retry : dice == 3 ? Verdict::dead : dice == 4 ? Verdict::defer : Verdict::done;
    if (dice == 5 && random >> 20 & 1) verdict.kind = Verdict::away;
    if (dice == 6 && (random >> 20 & 7) == 0) verdict.kind = Verdict::pause;
    if (verdict.kind != Verdict::done) verdict.error_class = "simulated";
    if (dice < 3 && how != Cancelled::failed) verdict.error_class = event::cancelled_class;
    if (dice < 3 || dice == 4 || dice == 5) verdict.delay = milliseconds{10 << (random >> 8) % 9};
  }
  worker.is_calling = false;
  if (settings_.needs.sql && batch.cut_out_of_order(verdicts)) {
    undo(worker);
    return batch.rewind();
  }
  worker.work.events += static_cast<std::int64_t>(verdicts.size());
  worker.work.busy += milliseconds{10};
  const CallCount count = batch.end_call(std::move(verdicts), milliseconds{10}, how);
  worker.is_on_trial = false;
  // Events without an outcome, and the events behind them, are called again.
  if (how != Cancelled::failed || batch.paused_by() || batch.away_for()) uncall(worker);
  instance.change_hold([&](Hold& hold) { hold.called(count.done, count.failed, count.error_class); });
  if (batch.paused_by()) instance.change_hold([&](Hold& hold) { hold.pause(*batch.paused_by()); });
  if (batch.away_for()) {
    queue.admit([&](Admission& admission) { return admission.go_away(now_, *batch.away_for(), "simulated"); });
    instance.changed();
  }
  if (settings_.needs.sql && random % 3 == 0) commit(instance, worker);
}

void Simulation::put_back(SimulatedInstance& instance, std::vector<RunSlice> slices) {
  if (slices.empty()) return;
  instance.queue.put_back(std::move(slices), now_);
  instance.changed();
}

// ---- transactions of workers

/// The events of the call or transaction may be called again.
void Simulation::uncall(const SimulatedInstance::Worker& worker) {
  for (const auto& [place, call] : worker.open) called_ -= static_cast<std::int64_t>(calls_.erase(call));
}

void Simulation::undo(SimulatedInstance::Worker& worker) {
  uncall(worker);
  worker.open.clear();
}

/// Records the outcomes of the finished calls together, if the worker has all leases.
void Simulation::commit(SimulatedInstance& instance, SimulatedInstance::Worker& worker) {
  const WorkBatch before = *worker.batch;
  std::deque<settler::SettlementBuilder> builders;
  for (settler::Report& report : worker.batch->take_finished()) SimulatedInstance::add(builders, std::move(report));
  std::vector<SimulatedInstance::Settling> all;
  std::vector<inbox::Settlement> settlements;
  for (auto& each : builders) {
    all.push_back({each.run(), each.take(0.5)});
    settlements.push_back(all.back().settlement.settlement);
  }
  const auto lost = database_for(instance).settle(instance.owner, settlements, now_);
  if (lost.empty()) {
    worker.open.clear();
    for (const auto& each : all) note_settled(instance, each);
    return;
  }
  undo(worker);
  worker.batch = before;
  auto slices = worker.batch->take_unreported();
  for (RunSlice& slice : worker.batch->take_rest()) slices.push_back(std::move(slice));
  for (const RunSlice& slice : slices) {
    const bool is_lost = std::find(lost.begin(), lost.end(), slice.run->lease.key) != lost.end();
    if (is_lost && !slice.run->lost.exchange(true)) instance.lost(*slice.run, 0);
  }
  put_back(instance, std::move(slices));
}

// ---- the settler

void Simulation::settle(SimulatedInstance& instance) {
  auto& settling = instance.settling;
  if (!settling) {
    if (instance.reported.empty()) return;
    settling.emplace(SimulatedInstance::Settling{instance.reported.front().run(), instance.reported.front().take(0.5)});
    instance.reported.pop_front();
    return;
  }
  if (!settling->is_lost) {
    settling->is_lost =
        !database_for(instance).settle(instance.owner, {settling->settlement.settlement}, now_).empty();
    // In doubt: the same once more. Outcomes that are recorded look lost then.
    if (std::exchange(instance.loses_answer, false)) {
      settling->is_lost.reset();
      settling->was_in_doubt = true;
    }
    return;
  }
  const auto done = std::exchange(settling, std::nullopt);
  settler::Run& run = *done->run;
  if (*done->is_lost && (!done->was_in_doubt || run.lease.sequence)) {
    std::int64_t events = done->settlement.counts.events();
    std::erase_if(instance.reported, [&](const auto& each) {
      if (each.run() != done->run) return false;
      events += static_cast<std::int64_t>(each.events());
      return true;
    });
    run.lost = true;
    return instance.lost(run, events);
  }
  note_settled(instance, *done);
}

void Simulation::note_settled(SimulatedInstance& instance, const SimulatedInstance::Settling& settled) const {
  settler::Run& run = *settled.run;
  const auto events = settled.settlement.counts.events();
  run.recorded += static_cast<std::size_t>(events);
  const auto& failures = settled.settlement.settlement.failures;
  const auto& counts = settled.settlement.counts;
  if (counts.events() > counts.waiting) {
    instance.recorded(counts.done + counts.skipped, static_cast<std::int64_t>(failures.size()), "simulated");
  }
  for (const auto& group : settled.settlement.settlement.retries) instance.retry_at(now_ + group.delay);
  if (run.is_in_order()) instance.settled_in_order(run, settled.settlement.keys);
  instance.settled(run, events);
}

}  // namespace inboxd::test
