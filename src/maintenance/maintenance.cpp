#include "maintenance/maintenance.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "event/now.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/repeated_registration.hpp"
#include "operations/history_queries.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::maintenance {
namespace {

using namespace std::chrono_literals;

constexpr int partition_days_ahead = 7;
constexpr int backfill_batch_events = 1'000;
constexpr std::chrono::seconds old_transaction = 5min;
/// A task that needs longer continues after the others.
constexpr auto max_turn = 1s;
constexpr auto check_tasks_interval = 500ms;
constexpr auto heartbeat_interval = 5s;  // an instance counts as live for 15 s
/// Between two reports of the same retired handlers, if preparing them is refused.
constexpr auto stale_report_interval = 30s;
constexpr std::size_t max_audit_entries = 100;
/// Counting a large backlog is slow. It gets at most a fiftieth of this thread's time, but runs every two minutes.
constexpr int count_pause_factor = 50;
constexpr auto min_count_pause = 5s;
constexpr auto max_count_pause = 120s;

std::set<std::string> names_of(const std::vector<operations::HandlerState>& handlers) {
  std::set<std::string> out;
  for (const auto& handler : handlers) out.insert(handler.name);
  return out;
}

/// Without handlers of which only a part was counted.
std::map<std::int32_t, std::int64_t> pending_of(const std::vector<operations::HandlerState>& handlers) {
  std::map<std::int32_t, std::int64_t> out;
  for (const auto& handler : handlers) {
    if (const auto pending = handler.pending(); !pending.at_least) out[handler.handler_id] = pending.number;
  }
  return out;
}

/// Unknown if the position or the end of a single partition is unknown.
std::map<std::string, std::optional<history::TopicSample::Place>> places_of(
    const std::vector<operations::PartitionState>& partitions) {
  std::map<std::string, std::optional<history::TopicSample::Place>> out;
  for (const auto& partition : partitions) {
    auto& place = out.try_emplace(partition.topic, history::TopicSample::Place{}).first->second;
    if (!partition.lag()) place.reset();
    if (!place) continue;
    place->position += *partition.position;
    place->end += std::max(*partition.high_watermark, *partition.position);
  }
  return out;
}

std::set<std::int32_t> away_in(const std::vector<inbox::HandlerActivity>& activity) {
  std::set<std::int32_t> out;
  for (const auto& handler : activity) {
    if (handler.away_for) out.insert(handler.handler_id);
  }
  return out;
}

}  // namespace

std::chrono::nanoseconds pause_after_count(std::chrono::nanoseconds took) {
  return std::clamp<std::chrono::nanoseconds>(took * count_pause_factor, min_count_pause, max_count_pause);
}

std::chrono::seconds VacuumHoldback::age(const std::optional<inbox::OldestTransaction>& oldest, Clock::time_point now) {
  if (!oldest) {
    id_.clear();
    return 0s;
  }
  if (id_ != oldest->id) {
    id_ = oldest->id;
    since_ = now;
  }
  return std::max(oldest->age.value_or(0s), std::chrono::duration_cast<std::chrono::seconds>(now - since_));
}

Maintenance::Maintenance(const config::Settings& settings, inbox::InstanceIdentity identity,
                         inbox::Registrations& registrations, Intake intake, CurrentProblem current_problem,
                         CurrentActivity current_activity, history::History& history, FedHandlers fed_handlers,
                         inbox::Watchdog& watchdog, base::Logger& log)
    : identity_{std::move(identity)},
      consumer_group_{settings.kafka.group},
      registrations_{registrations},
      intake_{intake},
      current_problem_{std::move(current_problem)},
      current_activity_{std::move(current_activity)},
      history_{history},
      log_{log},
      connection_{settings.database, "maintenance", watchdog, log},
      cleanup_{settings, connection_, turn_, log},
      generations_{settings, intake.filters, connection_, turn_, log},
      feeder_{registrations, connection_, turn_, std::move(fed_handlers), log},
      agreement_{registrations, identity_.instance_id, connection_, log} {}

Maintenance::~Maintenance() {
  request_stop();
  join();
}

void Maintenance::start() {
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "maintenance");
}

void Maintenance::request_stop() { stop_.request(); }

void Maintenance::join() {
  if (thread_.joinable()) thread_.join();
}

void Maintenance::run() {
  std::array<PeriodicTask, 20> tasks{{{&Maintenance::check_registrations, 2s},
                                      {&Maintenance::send_heartbeat, 1s},
                                      {&Maintenance::write_audit_entries, 1s},
                                      {&Maintenance::write_counts, 1s},
                                      {&Maintenance::read_histories, 30s},
                                      {&Maintenance::observe_backlog, 5s},
                                      {&Maintenance::observe_readings, 5s},
                                      {&Maintenance::backfill, 1s},
                                      {&Maintenance::feed_backfills, 1s},
                                      {&Maintenance::notice_added, 1s},
                                      {&Maintenance::make_partitions, 600s},
                                      {&Maintenance::repair_order, 30s},
                                      {&Maintenance::check_predecessors, 5s},
                                      {&Maintenance::purge, 60s},
                                      {&Maintenance::trim_events, 600s},
                                      {&Maintenance::turn_generations, 60s},
                                      {&Maintenance::load_filters, 2s},
                                      {&Maintenance::trim_positions, 60s},
                                      {&Maintenance::check_limits, 60s},
                                      {&Maintenance::check_vacuum, 60s}}};
  PeriodicTask& check = tasks.front();
  while (!stop_.is_requested()) {
    heartbeat_.beat();
    bool has_more = false;
    for (PeriodicTask& task : tasks) {
      if (Clock::now() < task.next || stop_.is_requested()) continue;
      // A new session may be on another server: ingest waits until lost registrations are restored there.
      if (&task != &check && connection_.generation() != checked_session_) run_task(check);
      run_task(task);
      has_more = has_more || turn_.has_more();
    }
    if (!has_more) stop_.wait_for(check_tasks_interval);
  }
  const auto failure = inbox::failure_of([&] {
    inbox::instance_heartbeat(connection_, identity_, true, std::nullopt, {}, {}, history_.take_minutes());
    write_audit_entries();
    write_counts();
  });
  if (failure) log_.debug("maintenance.stop_not_recorded", {{"error", failure->message}});
}

void Maintenance::run_task(PeriodicTask& task) {
  const auto began = Clock::now();
  turn_.begin(began + max_turn);
  task.next = began + task.every;
  const auto failure = inbox::failure_of([&] {
    (this->*task.work)();
    if (turn_.has_more()) task.next = began;
  });
  if (!failure) return;
  turn_.fail();
  if (!repeats_.is_news(failure->sqlstate + failure->message)) return;
  log_.warn("maintenance.chore_failed", {{"fault", name_of(failure->fault)}, {"error", failure->message}});
}

void Maintenance::note(AuditEntry entry) {
  const base::Lock lock{mutex_};
  if (audit_entries_.size() == max_audit_entries) audit_entries_.pop_front();
  audit_entries_.push_back(std::move(entry));
}

void Maintenance::write_audit_entries() {
  std::deque<AuditEntry> due;
  {
    const base::Lock lock{mutex_};
    due.swap(audit_entries_);
  }
  try {
    for (; !due.empty(); due.pop_front()) {
      const AuditEntry& entry = due.front();
      operations::write_audit(connection_, entry.actor, entry.operation, entry.target);
    }
  } catch (...) {
    const base::Lock lock{mutex_};
    audit_entries_.insert(audit_entries_.begin(), due.begin(), due.end());
    while (audit_entries_.size() > max_audit_entries) audit_entries_.pop_front();
    throw;
  }
}

void Maintenance::write_counts() {
  const auto events = intake_.unsubscribed.take();
  try {
    inbox::note_unsubscribed(connection_, events);
  } catch (...) {
    intake_.unsubscribed.put_back(events);
    throw;
  }
  const auto resends = intake_.resends.take();
  try {
    inbox::note_resends(connection_, resends);
  } catch (...) {
    intake_.resends.put_back(resends);
    throw;
  }
}

void Maintenance::send_heartbeat() {
  auto problem = current_problem_();
  if (!problem) problem = cleanup_.full();
  const auto activity = current_activity_(pending_of(observed().handlers));
  auto away = away_in(activity);
  if (Clock::now() < next_heartbeat_ && problem == reported_problem_ && away == reported_away_) return;
  std::vector<std::int32_t> handlers;
  for (const auto& registered : registrations_.get()) handlers.push_back(registered.handler_id);
  inbox::instance_heartbeat(connection_, identity_, false, problem, handlers, activity, history_.take_minutes());
  reported_problem_ = std::move(problem);
  reported_away_ = std::move(away);
  next_heartbeat_ = Clock::now() + heartbeat_interval;
  const base::Lock lock{mutex_};
  observed_.answered_us = event::now();
}

void Maintenance::read_histories() {
  if (!history_.wants_peers()) return;
  std::vector<history::Peer> peers;
  for (auto& row : operations::read_histories(connection_, identity_.instance_id)) {
    peers.push_back(std::move(row.peer));
  }
  history_.add_peers(peers);
}

void Maintenance::check_limits() {
  cleanup_.check_limits();
  intake_.quarantine_is_full = cleanup_.quarantine_is_full();
}

void Maintenance::check_registrations() {
  const auto known = registrations_.get();
  checked_session_ = connection_.generation();
  const auto versions = inbox::read_handler_versions(connection_);
  registrations_.note(versions);
  if (!inbox::are_registered(connection_, known)) restore_registrations(known);
  inbox::set_dead_letter_topics(connection_, registrations_.get(), consumer_group_, false);
  checked_session_ = connection_.generation();
  check_retired(known);
  agreement_.compare(versions);
  take_orphaned_orders();
}

/// Instances with the newer order settings of a handler are gone. Without this, no instance would run it.
void Maintenance::take_orphaned_orders() {
  const auto known = registrations_.get();
  const auto taken =
      inbox::take_orphaned_orders(connection_, known, "daemon on " + identity_.host, identity_.instance_id);
  bool has_changed = false;
  for (const auto& one : taken) {
    if (one.change.empty()) continue;
    has_changed = true;
    log_.warn("maintenance.order_taken", {{"handler", one.name}, {"change", one.change}});
  }
  if (has_changed) registrations_.replace(known, taken);  // unless a reload replaced them meanwhile
}

/// Follows operators who retire or restore handlers in the database. If preparing the handlers is refused, the log has
/// the reason, and it is repeated after a pause.
void Maintenance::check_retired(const std::vector<inbox::Registered>& running) {
  const auto expected = registrations_.retired();
  auto configured = expected;
  for (const auto& registered : running) configured.insert(registered.handler_id);
  auto retired = inbox::retired_handlers(connection_, configured);
  if (retired == expected) retired_.reset();
  if (retired == expected || (retired == retired_ && Clock::now() < next_stale_report_)) return;
  log_.info("maintenance.handlers_changed");
  retired_ = std::move(retired);
  next_stale_report_ = Clock::now() + stale_report_interval;
  handlers_are_stale_ = true;
}

/// A failover to a standby that lacks a handler's registration, or a restore, would leave the handler without events.
void Maintenance::restore_registrations(const std::vector<inbox::Registered>& registered) {
  log_.error("maintenance.registrations_lost");
  const auto again = inbox::restore_registrations(connection_, registered, "daemon on " + identity_.host, identity_);
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (again[i].handler_id != registered[i].handler_id) {
      log_.error("maintenance.handler_readded", {{"handler", again[i].name}});
      failed_ = true;
    } else if (again[i].is_new) {
      log_.error("maintenance.handler_restored", {{"handler", again[i].name}});
    } else if (!again[i].change.empty()) {
      log_.error("maintenance.change_restored", {{"handler", again[i].name}, {"change", again[i].change}});
    }
  }
  registrations_.replace(registered, again);  // unless a reload replaced them meanwhile
}

void Maintenance::backfill() {
  while (const auto batch = inbox::backfill_bite(connection_, backfill_batch_events)) {
    backfilled_.events += batch->events;
    backfilled_.dead_letters += batch->dead_letters;
    if (!turn_.should_continue()) break;
  }
  if (turn_.has_more() || backfilled_.events == 0) return;
  log_.info("maintenance.backfilled",
            {{"events", backfilled_.events}, {"dead_letters_answered", backfilled_.dead_letters}});
  backfilled_ = {};
}

void Maintenance::make_partitions() {
  observe_days();  // also if making partitions fails: the metric must stay correct
  const int made = inbox::make_partitions(connection_, partition_days_ahead);
  if (made == 0) return;
  log_.info("maintenance.day_partitions_made", {{"partitions", made}});
  observe_days();
}

void Maintenance::observe_days() {
  const std::int64_t until = inbox::days_made_until(connection_);
  const base::Lock lock{mutex_};
  observed_.days_until_s = until;
}

void Maintenance::observe_backlog() {
  if (Clock::now() < next_count_) return;
  const auto began = Clock::now();
  try {
    count_backlog();
  } catch (...) {
    next_count_ = Clock::now() + pause_after_count(Clock::now() - began);
    throw;
  }
  next_count_ = Clock::now() + pause_after_count(Clock::now() - began);
}

void Maintenance::count_backlog() {
  auto situation = operations::read_situation(connection_);
  auto findings = operations::findings_of(situation);
  const base::Lock lock{mutex_};
  observed_.without_instance = names_of(operations::handlers_without_instance(situation));
  observed_.unread = operations::unread_subscriptions(situation);
  observed_.handlers = std::move(situation.handlers);
  std::move(situation.retired.begin(), situation.retired.end(), std::back_inserter(observed_.handlers));
  observed_.quarantine = std::move(situation.quarantine);
  observed_.outbox = situation.outbox;
  observed_.places = places_of(situation.partitions);
  observed_.findings = std::move(findings);
  observed_.at_us = event::now();
}

void Maintenance::observe_readings() {
  auto readings = operations::read_readings(connection_);
  const base::Lock lock{mutex_};
  observed_.readings = std::move(readings);
}

Maintenance::Observed Maintenance::observed() const {
  const base::Lock lock{mutex_};
  return observed_;
}

void Maintenance::check_vacuum() {
  const auto oldest = inbox::find_oldest_transaction(connection_);
  const auto age = vacuum_holdback_.age(oldest, Clock::now());
  const bool is_old = age >= old_transaction;
  {
    const base::Lock lock{mutex_};
    observed_.pinned = is_old ? age : 0s;
  }
  if (!is_old) return;
  log_.warn("maintenance.old_transaction", {{"holder", oldest->holder},
                                            {"pid", oldest->process_id},
                                            {"name", oldest->name},
                                            {"user", oldest->user},
                                            {"seconds", age.count()}});
}

}  // namespace inboxd::maintenance
