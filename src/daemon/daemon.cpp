#include "daemon/daemon.hpp"

#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "config/units.hpp"
#include "operations/finding_kinds.hpp"
#include "plugin/traced_handler.hpp"

namespace inboxd::daemon {

using Closed = dispatcher::InFlight::Closed;
namespace {

/// After the drain: the time to record the last outcomes, and the limit of a statement then.
constexpr std::chrono::seconds last_records{2};
constexpr std::chrono::seconds last_statement{1};
/// A server that restarts is back by then.
constexpr std::chrono::seconds sessions_told_after{10};
constexpr std::chrono::seconds own_sessions_patience{1};
constexpr std::chrono::milliseconds own_sessions_look{2};

}  // namespace

std::string stopped_text(const std::string& handler, int calls) {
  return "handler " + handler + " is stopped: " + std::to_string(calls) + (calls == 1 ? " call" : " calls") +
         " never returned; fix it and restart";
}

std::string no_session_text(const std::string& handler, const dispatcher::MissingSessions::State& missing) {
  return "handler " + handler + ": " + std::to_string(missing.workers) +
         (missing.workers == 1 ? " worker has" : " workers have") + " no database session: " + missing.error +
         "; raise that limit, or lower concurrency";
}

std::chrono::milliseconds stall_limit(const config::Settings& settings) {
  return settings.database.deadline + settings.liveness_grace;
}

Daemon::Daemon(const config::Settings& settings, const base::Uuid& owner, base::Logger& log)
    : log_{log},
      group_{settings.kafka.group},
      tracer_{std::make_shared<trace::Tracer>(settings.tracing, owner, log)},
      relay_{settings, owner, watchdog_, log},
      settler_{settings.database, owner, watchdog_, log},
      dispatcher_{settings.dispatch, settings.database, owner, watchdog_, settler_, log, [this] { relay_.wake(); }},
      consumer_{settings,
                owner,
                registrations_,
                dispatcher_,
                watchdog_,
                log,
                settings.tracing.is_off() ? nullptr : tracer_.get()},
      webhooks_{settings, consumer_.shared().filters, watchdog_, log},
      maintenance_{settings,
                   identity_of(owner, settings),
                   registrations_,
                   {consumer_.shared().unsubscribed, consumer_.shared().resends, consumer_.shared().filters,
                    consumer_.shared().quarantine_is_full},
                   [this] { return current_problem(); },
                   [this](const auto& pending) { return current_activity(pending); },
                   history_,
                   {[this](std::int32_t id, std::chrono::milliseconds time) { return dispatcher_.events_in(id, time); },
                    [this](std::int32_t id) { dispatcher_.notify_fed(id); }},
                   watchdog_,
                   log},
      own_sessions_{settings.ingest_connections() + 2 + (settings.has_local_topics() ? 1 : 0) +
                    (settings.has_ingest_right() ? 1 : 0) + (settings.outbox.relay ? 1 : 0)} {
  watchdog_.server().set_owner(owner);
}

std::optional<Refusal> Daemon::start(PreparedHandlers prepared) {
  tracer_->start();
  settler_.start();
  set_handlers(std::move(prepared));
  maintenance_.start();
  relay_.start();
  const auto problem = consumer_.start();
  dispatcher_.start([&] {
    if (!problem) await_own_sessions();
  });
  if (problem) return Refusal{base::ExitCode::configuration, problem->message};
  // Last: a request that is answered with 202 is handled by this instance or another.
  const auto closed = webhooks_.start();
  if (!closed) return std::nullopt;
  return Refusal{closed->is_taken ? base::ExitCode::try_again : base::ExitCode::configuration, closed->message};
}

/// Where connections are scarce, the sessions that store, claim and record events come before the workers' sessions.
void Daemon::await_own_sessions() const {
  const auto until = std::chrono::steady_clock::now() + own_sessions_patience;
  const std::int64_t wanted = own_sessions_ + (handlers().empty() ? 0 : 1);  // the claimer asks about handlers only
  while (watchdog_.counts().open() < wanted && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(own_sessions_look);
  }
}

void Daemon::stop(std::chrono::milliseconds drain) {
  const auto deadline = std::chrono::steady_clock::now() + drain;
  // A hanging database must not delay the end: systemd would kill the process, with its leases still held.
  watchdog_.limit_all(deadline, last_statement);
  watchdog_.cut_all(deadline + last_records + last_statement);
  tracer_->end_by(deadline + last_records + last_statement);
  webhooks_.request_stop();
  consumer_.request_stop();
  dispatcher_.request_stop();
  consumer_.finish_intake();
  dispatcher_.join(deadline);
  maintenance_.request_stop();  // its heartbeats say until here that the daemon still runs
  settler_.request_stop();
  settler_.join(deadline + last_records);
  relay_.request_stop();  // after the last transactions that publish
  consumer_.join();
  webhooks_.join();
  maintenance_.join();
  relay_.join();
  tracer_->request_stop();
  tracer_->join();
}

void Daemon::replace_handlers(PreparedHandlers prepared) { set_handlers(std::move(prepared)); }

void Daemon::set_handlers(PreparedHandlers prepared) {
  const base::Lock lock{handlers_mutex_};
  handlers_.clear();
  low_limits_ = std::move(prepared.low_limits);
  std::vector<inbox::Registered> registered;
  for (auto& handler : prepared.handlers) {
    registered.push_back(handler.registered);
    handlers_[handler.handler_id] = handler.settings.name;
    if (!tracer_->settings().is_off()) {
      handler.instance = plugin::traced(std::move(handler.instance), {handler.settings.name, group_}, tracer_);
    }
    handler.paused = paused_;  // a reload keeps the pause of this instance
  }
  registrations_.set(std::move(registered), std::move(prepared.retired));
  dispatcher_.replace_handlers(std::move(prepared.handlers));
}

bool Daemon::pause_all(bool paused, const std::string& actor) {
  const base::Lock lock{handlers_mutex_};
  if (paused_ == paused) return false;
  paused_ = paused;
  for (const auto& [handler_id, name] : handlers_) dispatcher_.set_closed(handler_id, Closed::paused, paused);
  note(actor, paused ? "instance pause" : "instance resume");
  return true;
}

void Daemon::close_for_order(const std::set<std::int32_t>& handlers, bool closed) {
  for (const std::int32_t handler_id : handlers) dispatcher_.set_closed(handler_id, Closed::reorder, closed);
}

std::int64_t Daemon::events_of(const std::set<std::int32_t>& handlers) const {
  std::int64_t out = 0;
  for (const std::int32_t handler_id : handlers) out += dispatcher_.stats(handler_id).in_flight;
  return out;
}

bool Daemon::is_paused() const {
  const base::Lock lock{handlers_mutex_};
  return paused_;
}

std::map<std::int32_t, std::string> Daemon::handlers() const {
  const base::Lock lock{handlers_mutex_};
  return handlers_;
}

std::vector<std::string> Daemon::low_limits() const {
  const base::Lock lock{handlers_mutex_};
  return low_limits_;
}

std::optional<std::string> Daemon::current_problem() const {
  std::string out;
  if (const auto disk = consumer_.counts().disk.now()) {
    out = std::string{operations::disk_full_problem} + " since " + config::time_text(disk->since) +
          ", and nothing is stored: " + disk->error;
  }
  if (const auto problem = consumer_.status().problem(std::chrono::steady_clock::now())) {
    out.append(out.empty() ? "" : "; ").append(*problem);
  }
  if (consumer_.counts().held > 0) {
    out.append(out.empty() ? "" : "; ")
        .append("the database lost a change of handlers; nothing is stored until it is restored");
  }
  for (const std::string& low : low_limits()) out.append(out.empty() ? "" : "; ").append(low);
  if (is_paused()) out.append(out.empty() ? "" : "; ").append("all handlers are paused in this instance");
  for (const auto& [handler_id, name] : handlers()) {
    const auto stats = dispatcher_.stats(handler_id);
    if (stats.stopped) out.append(out.empty() ? "" : "; ").append(stopped_text(name, stats.abandoned));
    if (const auto& missing = stats.missing_sessions; missing.lasting >= sessions_told_after) {
      out.append(out.empty() ? "" : "; ").append(no_session_text(name, missing));
    }
  }
  return out.empty() ? std::nullopt : std::optional{out};
}

std::vector<inbox::HandlerActivity> Daemon::current_activity(const std::map<std::int32_t, std::int64_t>& pending) {
  const auto outcomes = settler_.outcomes().all();
  std::vector<inbox::HandlerActivity> out;
  for (const auto& [handler_id, name] : handlers()) {
    ActivitySample now{dispatcher_.stats(handler_id), {}, std::nullopt};
    if (const auto found = outcomes.find(handler_id); found != outcomes.end()) now.outcomes = found->second;
    if (const auto found = pending.find(handler_id); found != pending.end()) now.pending = found->second;
    out.push_back(activity_.sample(handler_id, now, ActivitySampler::Clock::now()));
  }
  return out;
}

std::vector<base::Loop> Daemon::loops() const {
  std::vector<base::Loop> out = consumer_.loops();
  for (base::Loop& loop : dispatcher_.loops()) out.push_back(std::move(loop));
  out.push_back({"settler", settler_.heartbeat().last()});
  out.push_back({"maintenance", maintenance_.heartbeat().last()});
  if (relay_.is_on()) out.push_back({"relay", relay_.heartbeat().last()});
  if (webhooks_.is_on()) out.push_back({"webhooks", webhooks_.heartbeat().last()});
  out.push_back({"watchdog", watchdog_.last_check()});
  return out;
}

void Daemon::log_rates() {
  const Totals now = totals();
  if (now.stored == last_stored_ && now.done == last_done_) return;
  log_.info("daemon.recent_events", {{"stored", now.stored - last_stored_}, {"done", now.done - last_done_}});
  log_.info("daemon.total_events", {{"stored", now.stored},
                                    {"duplicates", now.duplicates},
                                    {"quarantined", now.quarantined},
                                    {"conflicts", now.conflicts},
                                    {"done", now.done},
                                    {"retried", now.retried},
                                    {"dead", now.dead},
                                    {"expired", now.expired},
                                    {"leases_lost", now.leases_lost}});
  last_stored_ = now.stored;
  last_done_ = now.done;
}

Totals Daemon::totals() const {
  const auto& in = consumer_.counts();
  const auto& out = settler_.counters();
  return {in.stored,   in.duplicates, in.quarantined, in.conflicts, out.done,
          out.retried, out.dead,      out.expired,    out.lost};
}

StatusFigures Daemon::status() const {
  StatusFigures out;
  for (const auto& entry : consumer_.status().entries()) {
    ++out.assigned;
    if (entry.state == consumer::PartitionLife::State::reading) ++out.reading;
    if (consumer::PartitionLife::is_halted(entry.state)) ++out.halted;
    const auto lag = entry.lag(consumer::PartitionStatus::Clock::now());
    lag ? out.lag += *lag : out.lag_unknown += 1;
  }
  const Totals so_far = totals();
  out.stored = so_far.stored;
  out.done = so_far.done;
  out.retried = so_far.retried;
  out.dead = so_far.dead;
  out.expired = so_far.expired;
  out.is_paused = is_paused();
  return out;
}

}  // namespace inboxd::daemon
