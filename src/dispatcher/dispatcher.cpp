#include "dispatcher/dispatcher.hpp"

#include <pthread.h>

#include <algorithm>
#include <set>
#include <utility>

namespace inboxd::dispatcher {

Dispatcher::Dispatcher(const config::Dispatch& settings, const config::Database& database, base::Uuid owner,
                       inbox::Watchdog& watchdog, settler::Settler& settler, base::Logger& log)
    : Dispatcher{settings, database_deliveries(database, owner, watchdog, log), settler, log, Limits{},
                 inbox::database_transactions(database, owner, watchdog, log)} {}

Dispatcher::Dispatcher(const config::Dispatch& settings, std::unique_ptr<Deliveries> deliveries,
                       settler::Settler& settler, base::Logger& log, Limits limits,
                       inbox::TransactionFactory transactions)
    : settings_{settings},
      settler_{settler},
      log_{log},
      limits_{limits},
      transactions_{std::move(transactions)},
      shared_{std::make_shared<Shared>(settings.in_hand_events, static_cast<std::int64_t>(settings.in_hand_bytes))},
      claimer_{std::move(deliveries), shared_, [this] { return all_in_hand(); }, settler, log, limits.claimer} {
  progress();
}

Dispatcher::~Dispatcher() {
  request_stop();
  join(Clock::now());
}

void Dispatcher::progress() { progress_ = Clock::now().time_since_epoch().count(); }

std::vector<base::Loop> Dispatcher::loops() const {
  return {{"overseer", Clock::time_point{Clock::duration{progress_.load()}}}, {"claimer", claimer_.last_progress()}};
}

// ---- handlers

std::shared_ptr<InHand> Dispatcher::find(std::int32_t handler_id) const {
  const std::shared_lock lock{in_hand_mutex_};
  const auto at = in_hand_.find(handler_id);
  return at == in_hand_.end() ? nullptr : at->second;
}

std::vector<std::shared_ptr<InHand>> Dispatcher::all_in_hand() const {
  const std::shared_lock lock{in_hand_mutex_};
  std::vector<std::shared_ptr<InHand>> out;
  for (const auto& [id, hand] : in_hand_) out.push_back(hand);
  return out;
}

/// The handler's things in hand: those it had before a reload, or new ones.
std::shared_ptr<InHand> Dispatcher::prepare(const HandlerSetup& handler) {
  std::shared_ptr<InHand> hand;
  {
    const std::unique_lock lock{in_hand_mutex_};
    auto& kept = in_hand_[handler.handler_id];
    if (!kept) kept = std::make_shared<InHand>(handler.handler_id, handler.settings, settings_.poll, shared_);
    hand = kept;
  }
  hand->configure(handler.settings, handler.instance->needs());
  handler.paused ? hand->close(InHand::Closed::paused) : hand->reopen(InHand::Closed::paused);
  hand->reopen(InHand::Closed::retired);
  hand->reopen(InHand::Closed::stopped);
  return hand;
}

void Dispatcher::replace_handlers(std::vector<HandlerSetup> handlers) {
  const std::lock_guard lock{crews_mutex_};
  shared_->events.deal(static_cast<int>(handlers.size()));
  shared_->bytes.deal(static_cast<int>(handlers.size()));
  for (auto& [id, crew] : crews_) {
    crew->request_stop();
    leaving_.push_back(std::move(crew));
  }
  crews_.clear();
  std::set<std::int32_t> kept;
  for (HandlerSetup& handler : handlers) {
    kept.insert(handler.handler_id);
    auto hand = prepare(handler);  // asks the instance, which goes to the crew then
    auto crew = std::make_unique<Crew>(std::move(hand), std::shared_ptr<plugin::Instance>{std::move(handler.instance)},
                                       handler.settings, limits_.watch, worker_ends_, transactions_, settler_, log_);
    if (started_ && !stopping_) crew->start();
    crews_[handler.handler_id] = std::move(crew);
  }
  for (const auto& hand : all_in_hand()) {
    if (!kept.contains(hand->handler_id())) hand->close(InHand::Closed::retired);
    hand->recount();
  }
}

void Dispatcher::discard(std::vector<HandlerSetup> handlers) {
  for (HandlerSetup& handler : handlers) retirement_.take(handler.settings.name, std::move(handler.instance));
}

void Dispatcher::set_paused(std::int32_t handler_id, bool paused) {
  const auto hand = find(handler_id);
  if (!hand) return;
  paused ? hand->close(InHand::Closed::paused) : hand->reopen(InHand::Closed::paused);
}

// ---- service

void Dispatcher::start() {
  {
    const std::lock_guard lock{crews_mutex_};
    started_ = true;
    for (auto& [id, crew] : crews_) crew->start();
  }
  claimer_.start();
  progress();
  overseer_ = std::thread{[this] { oversee(); }};
  pthread_setname_np(overseer_.native_handle(), "overseer");
}

void Dispatcher::request_stop() {
  for (const auto& hand : all_in_hand()) hand->close(InHand::Closed::ending);
  const std::lock_guard lock{crews_mutex_};
  stopping_ = true;
  for (auto& [id, crew] : crews_) crew->request_stop();
}

void Dispatcher::join(Clock::time_point deadline) {
  wait_for_crews(deadline);
  if (!crews_have_ended()) {
    {
      const std::lock_guard lock{crews_mutex_};
      for (auto& [id, crew] : crews_) crew->cancel();
      for (auto& crew : leaving_) crew->cancel();
    }
    wait_for_crews(Clock::now() + limits_.last_call);
  }
  overseer_stops_ = true;
  overseer_bell_.ring();
  if (overseer_.joinable()) overseer_.join();
  give_up_crews();
  end_claimer(deadline);
  for (const std::string& handler : retirement_.finish(std::max(deadline, Clock::now() + limits_.last_call))) {
    log_.warn("dispatcher: a plugin does not end its instance, its thread is left", {{"handler", handler}});
  }
}

/// What still runs is given up.
void Dispatcher::give_up_crews() {
  std::vector<std::unique_ptr<Crew>> all;
  {
    const std::lock_guard lock{crews_mutex_};
    for (auto& [id, crew] : crews_) leaving_.push_back(std::move(crew));
    crews_.clear();
    all = std::exchange(leaving_, {});
  }
  retire(std::move(all));
}

/// Waits for nothing: the instances, which alone may take their time, end elsewhere.
void Dispatcher::retire(std::vector<std::unique_ptr<Crew>> crews) {
  for (std::unique_ptr<Crew>& crew : crews) {
    std::string name = crew->name();
    auto instance = crew->instance();
    crew.reset();
    retirement_.take(std::move(name), std::move(instance));
  }
}

void Dispatcher::end_claimer(Clock::time_point deadline) {
  if (!claimer_.is_running()) return;
  const auto now = Clock::now();
  if (!settler_.flush(std::min(now + limits_.flush, std::max(now, deadline) + limits_.overtime))) {
    log_.warn("dispatcher: not all outcomes could be recorded, their events run again when the leases have run out");
  }
  claimer_.request_stop();
  claimer_.join();
}

void Dispatcher::oversee() {
  while (!overseer_stops_) {
    progress();
    review_crews();
    for (const std::string& handler : retirement_.overdue(Clock::now() - limits_.destroy)) {
      log_.warn("dispatcher: a plugin takes long to end an instance; nobody waits for it", {{"handler", handler}});
    }
    overseer_bell_.wait_until(Clock::now() + until_review());
  }
}

/// A call that begins meanwhile is looked at no later than a tenth of its deadline.
std::chrono::milliseconds Dispatcher::until_review() {
  for (const auto& hand : all_in_hand()) {
    if (hand->lease_at_stake()) return limits_.review;
  }
  const std::lock_guard lock{crews_mutex_};
  auto calm = limits_.calm;
  for (const auto& [id, crew] : crews_) calm = std::min(calm, crew->deadline() / 10);
  return std::max(calm, limits_.review);
}

void Dispatcher::review_crews() {
  std::vector<std::unique_ptr<Crew>> ended;
  {
    const std::lock_guard lock{crews_mutex_};
    const auto now = Clock::now();
    for (auto& [id, crew] : crews_) crew->review(now);
    for (auto& crew : leaving_) {
      crew->review(now);
      if (crew->has_ended()) ended.push_back(std::move(crew));
    }
    std::erase(leaving_, nullptr);
  }
  retire(std::move(ended));
}

bool Dispatcher::crews_have_ended() {
  const std::lock_guard lock{crews_mutex_};
  const auto ended = [](const Crew& crew) { return crew.has_ended(); };
  return std::all_of(crews_.begin(), crews_.end(), [&](const auto& entry) { return ended(*entry.second); }) &&
         std::all_of(leaving_.begin(), leaving_.end(), [&](const auto& crew) { return ended(*crew); });
}

void Dispatcher::wait_for_crews(Clock::time_point until) {
  while (!crews_have_ended() && Clock::now() < until) worker_ends_->bell.wait_until(until);
}

// ---- hand-off

consumer::HandOff::Room Dispatcher::reserve(std::int32_t handler_id, std::int64_t events, std::size_t bytes) {
  const auto hand = find(handler_id);
  return hand ? hand->reserve(events, bytes) : Room{};
}

void Dispatcher::hand_over(inbox::LeasedRun run, std::int64_t reserved) {
  // Nothing is reserved for a handler that was never here, and those that went are kept.
  if (const auto hand = find(run.handler_id)) hand->hand_over(std::move(run), reserved);
}

void Dispatcher::release(std::int32_t handler_id, std::int64_t events) {
  if (const auto hand = find(handler_id)) hand->release(events);
}

void Dispatcher::born_due(std::int32_t handler_id) {
  if (const auto hand = find(handler_id)) hand->born_due();
}

// ---- figures

Stats Dispatcher::stats(std::int32_t handler_id) const {
  const auto hand = find(handler_id);
  return hand ? hand->stats() : Stats{};
}

bool Dispatcher::idle() const {
  const auto hands = all_in_hand();
  return std::all_of(hands.begin(), hands.end(), [](const auto& hand) { return hand->idle(); });
}

}  // namespace inboxd::dispatcher
