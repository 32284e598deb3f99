#include "workers/dispatcher.hpp"

#include <pthread.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::dispatcher {

Dispatcher::Dispatcher(const config::Dispatch& settings, const config::Database& database, base::Uuid owner,
                       inbox::Watchdog& watchdog, settler::Settler& settler, base::Logger& log,
                       std::function<void()> on_published)
    : Dispatcher{settings, ask_database(database, owner, watchdog, log),
                 settler,  log,
                 Limits{},
                 transaction::database_transactions(database, owner, watchdog, log, std::move(on_published))} {}

Dispatcher::Dispatcher(const config::Dispatch& settings, AskDatabase ask_database,
                       settler::Settler& settler, base::Logger& log, Limits limits,
                       transaction::TransactionFactory transactions)
    : settings_{settings},
      settler_{settler},
      log_{log},
      limits_{limits},
      transactions_{std::move(transactions)},
      budgets_{std::make_shared<Budgets>(settings.in_hand_events, static_cast<std::int64_t>(settings.in_hand_bytes))},
      claimer_{std::move(ask_database),
               claimer_signals_,
               [this] { return all_in_flight(); },
               settler,
               log,
               limits.claimer} {}

Dispatcher::~Dispatcher() {
  request_stop();
  join(Clock::now());
}

std::vector<base::Loop> Dispatcher::loops() const {
  return {{"overseer", heartbeat_.last()}, {"claimer", claimer_.heartbeat().last()}};
}

// ---- handlers

std::shared_ptr<InFlight> Dispatcher::find(std::int32_t handler_id) const {
  const base::ReaderLock lock{in_flight_mutex_};
  const auto at = in_flight_.find(handler_id);
  return at == in_flight_.end() ? nullptr : at->second;
}

std::vector<std::shared_ptr<InFlight>> Dispatcher::all_in_flight() const {
  const base::ReaderLock lock{in_flight_mutex_};
  std::vector<std::shared_ptr<InFlight>> out;
  out.reserve(in_flight_.size());
  for (const auto& [id, in_flight] : in_flight_) out.push_back(in_flight);
  return out;
}

/// The handler's events in flight: the events from before a reload, or none yet.
std::shared_ptr<InFlight> Dispatcher::prepare(const HandlerSetup& handler) {
  std::shared_ptr<InFlight> in_flight;
  {
    const base::WriterLock lock{in_flight_mutex_};
    auto& kept = in_flight_[handler.handler_id];
    if (!kept) {
      kept =
          std::make_shared<InFlight>(handler.handler_id, handler.settings, settings_.poll, budgets_, claimer_signals_);
      for (const std::int32_t shard : assigned_) kept->lock()->assigned(shard);
      if (handler.has_predecessor) kept->lock()->look_for_orphans_at_once();
    }
    in_flight = kept;
  }
  in_flight->configure(handler.settings, handler.instance->needs());
  if (handler.held) in_flight->set_hold(inbox::HandlerHold::State::held);
  handler.paused ? in_flight->close(InFlight::Closed::paused) : in_flight->reopen(InFlight::Closed::paused);
  in_flight->reopen(InFlight::Closed::retired);
  in_flight->reopen(InFlight::Closed::stopped);
  in_flight->reopen(InFlight::Closed::reorder);
  return in_flight;
}

void Dispatcher::replace_handlers(std::vector<HandlerSetup> handlers) {
  const base::Lock lock{pools_mutex_};
  budgets_->divide(static_cast<int>(handlers.size()));
  for (auto& [id, pool] : pools_) {
    pool->request_stop();
    leaving_.push_back(std::move(pool));
  }
  pools_.clear();
  std::set<std::int32_t> kept;
  for (HandlerSetup& handler : handlers) {
    kept.insert(handler.handler_id);
    auto in_flight = prepare(handler);  // before the instance is moved to the pool
    auto pool = std::make_unique<WorkerPool>(std::move(in_flight),
                                             std::shared_ptr<plugin::Instance>{std::move(handler.instance)},
                                             handler.settings, limits_.watch, exits_, transactions_, settler_, log_);
    if (started_ && !stopping_) pool->start();
    pools_[handler.handler_id] = std::move(pool);
  }
  for (const auto& in_flight : all_in_flight()) {
    if (!kept.contains(in_flight->handler_id())) in_flight->close(InFlight::Closed::retired);
    in_flight->lock();  // it reports its use of the budgets, whose division has changed
  }
}

void Dispatcher::discard(std::vector<HandlerSetup> handlers) {
  for (HandlerSetup& handler : handlers) reaper_.take(handler.settings.name, std::move(handler.instance));
}

void Dispatcher::set_closed(std::int32_t handler_id, InFlight::Closed reason, bool closed) {
  const auto in_flight = find(handler_id);
  if (!in_flight) return;
  closed ? in_flight->close(reason) : in_flight->reopen(reason);
}

// ---- service

void Dispatcher::start(const std::function<void()>& before_workers) {
  claimer_.start();
  before_workers();
  {
    const base::Lock lock{pools_mutex_};
    started_ = true;
    for (auto& [id, pool] : pools_) pool->start();
  }
  heartbeat_.beat();
  overseer_ = std::thread{[this] { oversee(); }};
  pthread_setname_np(overseer_.native_handle(), "overseer");
}

void Dispatcher::request_stop() {
  for (const auto& in_flight : all_in_flight()) in_flight->close(InFlight::Closed::shutdown);
  const base::Lock lock{pools_mutex_};
  stopping_ = true;
  for (auto& [id, pool] : pools_) pool->request_stop();
}

void Dispatcher::join(Clock::time_point deadline) {
  wait_for_pools(deadline);
  if (!pools_have_ended()) {
    {
      const base::Lock lock{pools_mutex_};
      for (auto& [id, pool] : pools_) pool->cancel();
      for (auto& pool : leaving_) pool->cancel();
    }
    wait_for_pools(Clock::now() + limits_.cancelled_calls);
  }
  overseer_stop_.request();
  if (overseer_.joinable()) overseer_.join();
  give_up_pools();
  end_claimer(deadline);
  for (const std::string& handler : reaper_.finish(std::max(deadline, Clock::now() + limits_.cancelled_calls))) {
    log_.warn("dispatcher.plugin_destroy_hangs", {{"handler", handler}});
  }
}

/// Gives up the calls that still run.
void Dispatcher::give_up_pools() {
  std::vector<std::unique_ptr<WorkerPool>> all;
  {
    const base::Lock lock{pools_mutex_};
    for (auto& [id, pool] : pools_) leaving_.push_back(std::move(pool));
    pools_.clear();
    all = std::exchange(leaving_, {});
  }
  retire(std::move(all));
}

/// Waits for the workers' threads, a second at most. The reaper ends the plugin's instances, which may take long.
void Dispatcher::retire(std::vector<std::unique_ptr<WorkerPool>> pools) {
  for (std::unique_ptr<WorkerPool>& pool : pools) {
    std::string name = pool->name();
    auto instance = pool->instance();
    pool.reset();
    reaper_.take(std::move(name), std::move(instance));
  }
}

void Dispatcher::end_claimer(Clock::time_point deadline) {
  if (!claimer_.is_running()) return;
  const auto now = Clock::now();
  if (!settler_.flush(std::min(now + limits_.flush, std::max(now, deadline) + limits_.flush_overtime))) {
    log_.warn("dispatcher.outcomes_unrecorded");
  }
  claimer_.request_stop();
  claimer_.join();
}

void Dispatcher::oversee() {
  while (!overseer_stop_.is_requested()) {
    heartbeat_.beat();
    review_pools();
    for (const std::string& handler : reaper_.overdue(Clock::now() - limits_.destroy)) {
      log_.warn("dispatcher.plugin_destroy_slow", {{"handler", handler}});
    }
    overseer_stop_.wait_for(until_review());
  }
}

/// A call that begins meanwhile is first reviewed within a tenth of its deadline.
std::chrono::milliseconds Dispatcher::until_review() {
  for (const auto& in_flight : all_in_flight()) {
    if (in_flight->lease().is_at_stake) return limits_.review;
  }
  const base::Lock lock{pools_mutex_};
  auto longest = limits_.idle_review;
  for (const auto& [id, pool] : pools_) longest = std::min(longest, pool->deadline() / 10);
  return std::max(longest, limits_.review);
}

void Dispatcher::review_pools() {
  std::vector<std::unique_ptr<WorkerPool>> ended;
  {
    const base::Lock lock{pools_mutex_};
    const auto now = Clock::now();
    for (auto& [id, pool] : pools_) pool->review(now);
    for (auto& pool : leaving_) {
      pool->review(now);
      if (pool->has_ended()) ended.push_back(std::move(pool));
    }
    std::erase(leaving_, nullptr);
  }
  retire(std::move(ended));
}

bool Dispatcher::pools_have_ended() {
  const base::Lock lock{pools_mutex_};
  const auto ended = [](const WorkerPool& pool) { return pool.has_ended(); };
  return std::all_of(pools_.begin(), pools_.end(), [&](const auto& entry) { return ended(*entry.second); }) &&
         std::all_of(leaving_.begin(), leaving_.end(), [&](const auto& pool) { return ended(*pool); });
}

void Dispatcher::wait_for_pools(Clock::time_point until) {
  while (!pools_have_ended() && Clock::now() < until) exits_->wake.wait_until(until);
}

// ---- hand-off

consumer::HandOff::Reservation Dispatcher::reserve(std::int32_t handler_id, std::int64_t events, std::size_t bytes) {
  const auto in_flight = find(handler_id);
  return in_flight ? in_flight->reserve(events, bytes) : Reservation{};
}

void Dispatcher::hand_over(inbox::LeasedRun run, std::int64_t reserved) {
  // A reservation was made for this handler, and entries of removed handlers are kept.
  if (const auto in_flight = find(run.handler_id)) in_flight->hand_over(std::move(run), reserved);
}

void Dispatcher::release(std::int32_t handler_id, std::int64_t events) {
  if (const auto in_flight = find(handler_id)) in_flight->lock()->release(events);
}

void Dispatcher::notify_due(std::int32_t handler_id) {
  if (const auto in_flight = find(handler_id)) in_flight->lock()->notify_due(Clock::now());
}

std::int64_t Dispatcher::events_in(std::int32_t handler_id, std::chrono::milliseconds time) const {
  const auto in_flight = find(handler_id);
  return in_flight ? in_flight->events_in(time) : 1;
}

void Dispatcher::notify_fed(std::int32_t handler_id) {
  if (const auto in_flight = find(handler_id)) in_flight->lock()->notify_fed(Clock::now());
}

consumer::HandOff::Reservation Dispatcher::reserve_in_order(std::int32_t handler_id, const InOrder& part,
                                                            std::int64_t events, std::size_t bytes) {
  const auto in_flight = find(handler_id);
  return in_flight ? in_flight->lock()->reserve_in_order(part, events, bytes, Clock::now()) : Reservation{};
}

bool Dispatcher::lacks_room(std::int32_t handler_id, const InOrder* part, std::int64_t events, std::size_t bytes) {
  const auto in_flight = find(handler_id);
  return in_flight && in_flight->lock()->lacks_room(part, events, bytes);
}

void Dispatcher::end_in_order(std::int32_t handler_id, const InOrder& part, std::int32_t sequence, bool is_in_memory) {
  if (const auto in_flight = find(handler_id)) {
    in_flight->lock()->end_in_order(part, sequence, is_in_memory, Clock::now());
  }
}

void Dispatcher::assigned(std::int32_t shard_id) {
  const base::WriterLock lock{in_flight_mutex_};
  assigned_.insert(shard_id);
  for (const auto& [id, in_flight] : in_flight_) in_flight->lock()->assigned(shard_id);
}

void Dispatcher::revoked(std::int32_t shard_id) {
  const base::WriterLock lock{in_flight_mutex_};
  assigned_.erase(shard_id);
  for (const auto& [id, in_flight] : in_flight_) in_flight->lock()->revoked(shard_id);
}

// ---- figures

Stats Dispatcher::stats(std::int32_t handler_id) const {
  const auto in_flight = find(handler_id);
  return in_flight ? in_flight->stats() : Stats{};
}

bool Dispatcher::idle() const {
  const auto all = all_in_flight();
  return std::all_of(all.begin(), all.end(), [](const auto& in_flight) { return in_flight->idle(); });
}

}  // namespace inboxd::dispatcher
