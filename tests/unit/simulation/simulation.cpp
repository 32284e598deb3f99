#include "unit/simulation/simulation.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace inboxd::test {
namespace {

using namespace dispatcher;
using std::chrono::milliseconds;
using Kind = Step::Kind;

constexpr std::int64_t max_stored = 60;  ///< events of a shard
constexpr std::int64_t max_suspect_calls = 5;
constexpr milliseconds max_end{180'000};

}  // namespace

Simulation::Simulation(SimulationSettings settings) : settings_{std::move(settings)} {
  database_.guards = settings_.guards;
  database_.trace = settings_.trace;
  database_.order = config::order_text(settings_.handler);
  database_.trace_order();
  for (std::size_t i = 0; i < static_cast<std::size_t>(settings_.instances); ++i) {
    instances_.push_back(nullptr);
    start(i);
  }
  for (std::int32_t shard = 1; shard <= settings_.shards; ++shard) {
    assign(shard, static_cast<std::size_t>(shard) % instances_.size());
  }
}

Simulation::~Simulation() {
  for (std::size_t i = 0; i < instances_.size(); ++i) crash(i);
}

// ---- instances

void Simulation::start(std::size_t number) {
  auto instance = std::make_shared<SimulatedInstance>(next_owner_++, settings_.handler, now_);
  instance->queue.configure(settings_.handler, settings_.needs, now_);
  instance->changed();
  instances_[number] = instance;
  for (const auto& [shard, reader] : readers_) {
    if (reader == number) assign(shard, number);
  }
}

/// Runs keep their owner, and so each other, alive.
void Simulation::crash(std::size_t number) {
  SimulatedInstance& instance = *instances_[number];
  instance.storing.reset();
  instance.settling.reset();
  instance.reported.clear();
  for (auto& worker : instance.pool) worker.batch.reset();
  instance.machine.reset();
}

/// No commit is lost. Answers on their way are, and so are open transactions.
void Simulation::restart_server() {
  for (auto& each : instances_) {
    each->meets_other_server = true;
    if (each->request) each->answer = inbox::DatabaseFailure{inbox::Fault::reconnect, "", "restart"};
    if (each->storing && each->storing->is_asked) each->storing->is_in_doubt = true;
    if (each->settling) {
      each->settling->is_lost.reset();
      each->settling->was_in_doubt = true;
    }
    if (!settings_.needs.sql) continue;
    for (auto& worker : each->pool) {
      if (!worker.batch || worker.open.empty()) continue;
      undo(worker);
      worker.batch->rewind();
      worker.is_calling = false;
    }
  }
}

/// For a statement of the instance.
SimulatedDatabase& Simulation::database_for(SimulatedInstance& instance) {
  if (std::exchange(instance.meets_other_server, false)) database_.change_fences(instance.owner);
  return database_;
}

void Simulation::assign(std::int32_t shard, std::size_t number) {
  const auto before = readers_.find(shard);
  if (before != readers_.end() && before->second != number) {
    SimulatedInstance& other = *instances_[before->second];
    other.positions.erase(shard);
    other.queue.revoked(shard);
    other.changed();
  }
  readers_[shard] = number;
  SimulatedInstance& instance = *instances_[number];
  instance.positions[shard] = database_.positions[shard];
  instance.queue.assigned(shard);
  instance.changed();
}

void Simulation::reload(SimulatedInstance& instance) {
  instance.queue.configure(settings_.handler, settings_.needs, now_);
  instance.changed();
}

// ---- ingest

void Simulation::ingest(SimulatedInstance& instance, std::uint32_t random, bool may_begin) {
  HandlerQueue& queue = instance.queue;
  if (!instance.storing) {
    if (!may_begin || instance.positions.empty()) return;
    auto shard = instance.positions.begin();
    std::advance(shard, random % instance.positions.size());
    if (shard->second >= max_stored) return;
    const std::int64_t next = shard->second + 1 + random / 8 % 5;
    SimulatedInstance::Storing storing;
    storing.part = {shard->first, 0, shard->second, next};
    storing.batch = {shard->first, shard->second, next, database_.version, database_.sequence_of(shard->first)};
    const auto events = next - shard->second;
    const auto bytes = static_cast<std::size_t>(events) * 100;
    const bool is_same = queue.state().settings.scope == Settings{settings_.handler, {}}.scope;
    if (is_same && storing.batch.sequence) {
      storing.room = queue.reserve_in_order(storing.part, events, bytes, now_);
    } else if (is_same) {
      storing.room = queue.reserve(events, bytes, now_);
    }
    instance.changed();
    storing.batch.leased = storing.room.events;
    storing.batch.lease = storing.room.lease;
    storing.batch.sequence_fence = storing.room.sequence_fence;
    storing.batch.fence = ++database_.next_fence;
    instance.storing = std::move(storing);
    return;
  }
  SimulatedInstance::Storing& storing = *instance.storing;
  const auto shard = storing.part.shard_id;
  if (!storing.is_asked) {
    storing.is_asked = true;
    storing.born = database_for(instance).ingest(instance.owner, storing.batch, now_);
    storing.is_in_doubt = std::exchange(instance.loses_answer, false);
    return;
  }
  if (storing.is_in_doubt) {
    if (storing.born) database_for(instance).release_born(instance.owner, storing.batch.fence, now_);
    if (storing.room.events > 0) queue.release(storing.room.events);
  } else if (storing.born) {
    std::int64_t left = storing.room.events;
    for (auto& run : *storing.born) {
      const auto events = static_cast<std::int64_t>(run.events.size());
      queue.hand_over(instance.load(std::move(run)), events, now_);
      instance.changed();
      left -= events;
    }
    if (left > 0) queue.release(left);
    if (storing.batch.leased < storing.part.next - storing.part.expected) queue.notify_due(now_);
  } else if (storing.room.events > 0) {
    queue.release(storing.room.events);
  }
  const bool is_in_memory =
      storing.born && !storing.is_in_doubt && storing.batch.leased == storing.part.next - storing.part.expected;
  if (storing.room.is_open) queue.end_in_order(storing.part, storing.room.sequence, is_in_memory, now_);
  if (instance.positions.contains(shard)) instance.positions[shard] = database_.positions[shard];
  instance.storing.reset();
  instance.changed();
}

// ---- the claimer

void Simulation::ask(SimulatedInstance& instance) {
  HandlerQueue& queue = instance.queue;
  if (!instance.request) {
    // Leases first, also between two claims.
    if (now_ >= instance.next_holds) {
      instance.next_holds = now_ + milliseconds{500};
      instance.request = ReadHolds{{simulated_handler}, {}, milliseconds{10'000}};
      if (queue.state().admission.may_try()) std::get<ReadHolds>(*instance.request).may_try = {simulated_handler};
    }
    for (const Class of : {Class::lease, Class::hold, Class::limit, Class::claim}) {
      if (!instance.request) instance.request = queue.next(of, now_, instance.idle_workers());
    }
    if (!instance.request) instance.is_claimer_awake = false;
    instance.changed();
    if (!instance.request) return;
    const std::int64_t fence = ++database_.next_fence;
    if (auto* const it = std::get_if<TakeSequences>(&*instance.request)) it->fence = fence;
    if (auto* const it = std::get_if<Claim>(&*instance.request)) it->request.fence = fence;
    if (auto* const it = std::get_if<ClaimInOrder>(&*instance.request)) it->request.claim.fence = fence;
    instance.asked = now_;
    instance.statements = 0;
    return;
  }
  if (!instance.answer) {
    instance.answer = database_for(instance).ask(instance.owner, *instance.request, instance.statements++, now_);
    return;
  }
  if (std::exchange(instance.loses_answer, false)) {
    instance.answer = inbox::DatabaseFailure{inbox::Fault::reconnect, "", "lost"};
  }
  if (const auto* const calls = std::get_if<int>(&*instance.answer)) {
    instance.calls_asked = instance.asked;
    instance.calls_granted = *calls;
  }
  if (std::holds_alternative<ReadHolds>(*instance.request)) {
    const auto* const holds = std::get_if<ReadHolds::Result>(&*instance.answer);
    if (holds != nullptr) instance.change_hold([&](Hold& hold) { hold.read(holds->front().state); });
    instance.request.reset();
    instance.answer.reset();
    return;
  }
  std::vector<HandlerQueue::Loaded> runs;
  const auto load = [&](std::vector<inbox::LeasedRun>& leases) {
    for (auto& lease : leases) runs.push_back(instance.load(std::move(lease)));
  };
  if (auto* const claimed = std::get_if<Claim::Result>(&*instance.answer)) load(claimed->claimed.runs);
  if (auto* const claimed = std::get_if<inbox::ClaimedInOrder>(&*instance.answer)) load(claimed->claimed.runs);
  queue.answer(*instance.request, *instance.answer, runs, {instance.asked, now_});
  instance.request.reset();
  instance.answer.reset();
  instance.changed();
}

// ---- steps

void Simulation::act(const Step& step) {
  const auto random = step.random;
  const std::size_t number = random % instances_.size();
  SimulatedInstance& instance = *instances_[number];
  const auto value = random / 16;
  if (step.kind == Kind::wait) now_ += milliseconds{1 + value % 90};
  if (step.kind == Kind::wait_long) now_ += milliseconds{100 + value % 1'500};
  for (auto& each : instances_) {
    if (each->stopped > 0) --each->stopped;
    if (each->paused > 0 && --each->paused == 0) pause(*each, false);
  }
  if (step.kind == Kind::stop) instance.stopped = 1 + value % 100;
  if (step.kind == Kind::crash) {
    crash(number);
    start(number);
  }
  if (step.kind == Kind::restore) {
    if (backup_) {
      const std::int64_t fence = database_.next_fence;
      database_ = *backup_;
      database_.trace.write("restore");
      database_.next_fence = fence;  // fences are random: none comes twice
      ++restores_;
      using config::Mode;
      settings_.handler.mode = database_.order == "single"  ? Mode::single
                               : database_.order == "batch" ? Mode::batch
                                                            : Mode::sequential;
      for (std::size_t i = 0; i < instances_.size(); ++i) {
        crash(i);
        start(i);
      }
    } else {
      backup_ = database_;
      database_.trace.write("backup");
    }
  }
  if (step.kind == Kind::restart) restart_server();
  if (step.kind == Kind::hold && !database_.pause.is_paused) database_.pause = {true, false, false, 0, {}};
  if (step.kind == Kind::resume) database_.resume();
  if (step.kind == Kind::rebalance) assign(1 + static_cast<std::int32_t>(value % readers_.size()), number);
  if (step.kind == Kind::replay && !database_.dead.empty()) {
    auto letter = database_.dead.begin();
    std::advance(letter, value % database_.dead.size());
    database_.replay(letter->first, now_);
  }
  if (step.kind == Kind::reload) {
    using config::Mode;
    const auto to = std::array{Mode::sequential, Mode::single, Mode::batch}[value / 4 % 3];
    if (value % 4 < 2 && settings_.handler.mode != to) {
      settings_.handler.mode = to;
      database_.change_order(config::order_text(settings_.handler), now_);
    }
    if (instance.stopped == 0) reload(instance);
  }
  if (instances_[number]->stopped > 0) return;
  if (step.kind == Kind::ingest) ingest(instance, value, true);
  if (step.kind == Kind::ask) ask(instance);
  if (step.kind == Kind::work) work(instance, value % SimulatedInstance::workers, value);
  if (step.kind == Kind::settle) settle(instance);
  if (step.kind == Kind::lose) instance.loses_answer = true;
  if (step.kind == Kind::review) {
    instance.queue.review({}, now_);
    instance.changed();
  }
  if (step.kind == Kind::pause) {
    instance.paused = 1 + value % 50;
    pause(instance, true);
  }
}

/// A worker has taken events. After the end of its share of calls, or of its trial, an instance may still run some
/// of them.
void Simulation::check_limits(const SimulatedInstance::Worker& worker) {
  int calls = 0, trials = 0;
  for (const auto& each : instances_) {
    int running = 0;
    bool is_on_trial = false;
    for (const auto& other : each->pool) {
      running += other.batch ? 1 : 0;
      is_on_trial = is_on_trial || other.is_on_trial;
    }
    const bool knows = each->stopped == 0 && each->queue.state().admission.tries_one();
    trials += is_on_trial && knows ? 1 : 0;
    if (each->calls_asked + CallShare::lease > now_) calls += std::min(running, each->calls_granted);
  }
  const int most = settings_.handler.max_in_flight;
  if (most > 0 && calls > most) {
    violation_ = std::to_string(calls) + " calls at once, in place of " + std::to_string(most);
  }
  if (worker.is_on_trial && trials > 1) violation_ = std::to_string(trials) + " instances on trial at once";
}

/// The claimer sleeps until it is woken, or until a question is due.
bool Simulation::is_time_to_ask(SimulatedInstance& instance) const {
  if (instance.is_claimer_awake || instance.request || now_ >= instance.next_holds) return true;
  for (const Class of : {Class::lease, Class::hold, Class::limit, Class::claim}) {
    if (now_ >= instance.queue.next_due(of, now_)) return true;
  }
  return false;
}

void Simulation::pause(SimulatedInstance& instance, bool is_paused) {
  using Closed = Admission::Closed;
  instance.queue.admit([&](Admission& admission) {
    return is_paused ? admission.close(Closed::paused) : admission.reopen(Closed::paused);
  });
  instance.changed();
}

void Simulation::check(const SimulatedInstance& instance) {
  const auto& state = instance.queue.state();
  // Each worker may always have a call, a suspect comes beside what a claim asked for, and deferred events do not
  // count.
  const std::int64_t allowed = SimulatedInstance::memory_events + state.room.pace().minimum() + max_suspect_calls;
  const auto deferred = static_cast<std::int64_t>(instance.queue.deferred());
  const std::int64_t events = state.queue.events();
  const auto rate = config::rate_per_second(settings_.handler);
  if (rate && !settings_.needs.sql) {  // runs are not cut for a transaction
    const double seconds = std::chrono::duration<double>{now_.time_since_epoch() - std::chrono::hours{1}}.count();
    const double most = *rate * (seconds + 0.5 + static_cast<double>(restores_)) + 1;
    if (static_cast<double>(called_) > most) violation_ = std::to_string(called_) + " events called, beyond the rate";
  }
  if (events - deferred > allowed) violation_ = std::to_string(events) + " events in memory";
  if (deferred > state.queue.queued()) violation_ = "more events deferred than queued";
  if (!database_.violation.empty()) violation_ = database_.violation;
}

bool Simulation::has_ended() const {
  return database_.rows.empty() && std::all_of(instances_.begin(), instances_.end(), [](const auto& each) {
           const auto& state = each->queue.state();
           return !each->storing && !each->settling && each->reported.empty() && state.queue.events() == 0 &&
                  state.room.reservations().events() == 0;
         });
}

/// No faults any more: everything must end.
void Simulation::end_work() {
  is_calm_ = true;
  for (auto& each : instances_) {
    each->stopped = each->paused = 0;
    each->loses_answer = false;
    pause(*each, false);
    reload(*each);
  }
  for (const Instant end = now_ + max_end; now_ < end && violation_.empty(); now_ += milliseconds{25}) {
    for (auto& each : instances_) {
      for (int i = 0; i < 4; ++i) {
        ingest(*each, 0, false);
        if (is_time_to_ask(*each)) ask(*each);
        for (std::size_t worker = 0; worker < each->pool.size(); ++worker) {
          if (!each->pool[worker].is_asleep) work(*each, worker, 0);
        }
        settle(*each);
      }
      each->queue.review({}, now_);
      each->changed();
      check(*each);
    }
    if (has_ended()) return;
    database_.resume();
  }
  if (!violation_.empty()) return;
  violation_ = std::to_string(database_.rows.size()) + " deliveries are stuck in order " + database_.order;
  for (const auto& each : instances_) {
    const auto& state = each->queue.state();
    violation_ += "; instance " + std::to_string(each->owner) + ": admission " +
                  std::to_string(static_cast<int>(state.admission.state())) + ", queued " +
                  std::to_string(state.queue.queued()) + " of " + std::to_string(state.queue.events()) +
                  ", idle workers " + std::to_string(each->idle_workers());
  }
  for (const auto& [id, row] : database_.rows) {
    const std::string sequence = row.sequence ? std::to_string(*row.sequence) : "none";
    violation_ += "; " + std::to_string(id) + " of sequence " + sequence + (row.lane ? " in a lane" : "") + ", owner " +
                  std::to_string(row.owner) + ", claims " + std::to_string(row.claims);
  }
}

std::optional<std::string> Simulation::run(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    act(step);
    check(*instances_[step.random % instances_.size()]);
    if (!violation_.empty()) return violation_;
  }
  end_work();
  if (!violation_.empty()) return violation_;
  for (const auto& [shard, position] : database_.positions) {
    for (std::int64_t offset = 0; offset < position; ++offset) {
      if (database_.outcomes[{shard, offset}] == 1 || database_.dead.contains({shard, offset})) continue;
      return "no outcome of " + std::to_string(shard) + ":" + std::to_string(offset);
    }
  }
  return std::nullopt;
}

}  // namespace inboxd::test
