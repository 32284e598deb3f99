#include "daemon/live.hpp"

#include <algorithm>
#include <mutex>

#include "config/units.hpp"
#include "daemon/error_kinds.hpp"
#include "daemon/metrics.hpp"
#include "event/now.hpp"

namespace inboxd::daemon {
namespace {

using admin::Document;

double seconds_of(std::int64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }

/// The wall clock's time of a moment of the steady one.
double wall_time_of(std::chrono::steady_clock::time_point moment) {
  const std::chrono::duration<double> ago = std::chrono::steady_clock::now() - moment;
  return seconds_of(event::now()) - ago.count();
}

/// With the errors that have not happened: who watches a counter cannot see it rise to where it begins.
std::vector<base::Logger::Kind> with_all_errors(std::vector<base::Logger::Kind> kinds) {
  for (const std::string_view sentence : error_kinds()) {
    const bool has_happened = std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.level == base::LogLevel::error && kind.sentence == sentence;
    });
    if (!has_happened) kinds.push_back({base::LogLevel::error, std::string{sentence}, 0});
  }
  return kinds;
}

void gather(const Daemon& daemon, Figures& out) {
  const auto polled = std::chrono::steady_clock::duration{daemon.consumer().poller().last_moved()};
  if (polled.count() > 0) out.last_poll = wall_time_of(std::chrono::steady_clock::time_point{polled});
  out.last_settle = wall_time_of(daemon.settler().last_progress());
  out.is_paused = daemon.is_paused();
  out.partitions = daemon.consumer().board().entries();
  out.unknown_topics = daemon.consumer().board().unknown_topics();
  out.kafka_errors = daemon.consumer().board().complaints();
  const auto tallies = daemon.settler().tallies().all();
  for (const auto& [id, name] : daemon.handlers()) {
    const auto tally = tallies.find(id);
    out.handlers.push_back(
        {name, daemon.dispatcher().stats(id), tally == tallies.end() ? settler::Tallies::Tally{} : tally->second});
  }
  out.seen = daemon.maintenance().seen();
  out.ingest = &daemon.consumer().counts();
  out.settled = &daemon.settler().counters();
  out.connections = &daemon.connections();
  out.traces = &daemon.traces();
}

Document partition_document(const consumer::Board::Entry& entry) {
  const auto known = [](std::int64_t offset) { return offset < 0 ? Document(nullptr) : Document(offset); };
  const bool has_lag = entry.position >= 0 && entry.high_watermark >= 0;
  return {{"topic", entry.partition.topic},
          {"partition", entry.partition.partition},
          {"state", name_of(entry.state)},
          {"position", known(entry.position)},
          {"high_watermark", known(entry.high_watermark)},
          {"lag", has_lag ? Document(std::max<std::int64_t>(entry.high_watermark - entry.position, 0)) : Document{}},
          {"received", entry.received}};
}

Document handler_document(const std::string& name, const dispatcher::Stats& stats) {
  return {{"handler", name},
          {"in_hand", stats.in_hand},
          {"in_hand_bytes", stats.in_hand_bytes},
          {"queued", stats.queued},
          {"per_second", stats.per_second},
          {"has_backlog", stats.backlog},
          {"paused", stats.paused},
          {"stopped", stats.stopped},
          {"abandoned_calls", stats.abandoned},
          {"deadlines_passed", stats.deadlines},
          {"repeated_transactions", stats.repeated},
          {"given_back", stats.given_back}};
}

}  // namespace

std::chrono::milliseconds longest_standstill(const config::Settings& settings) {
  return settings.database.deadline + settings.liveness_grace;
}

LiveDaemon::LiveDaemon(const config::Settings& settings, base::Uuid owner, const base::Logger& log)
    : settings_{settings}, owner_{owner}, log_{log}, began_us_{event::now()}, last_reload_us_{began_us_} {}

void LiveDaemon::reloaded(bool worked) {
  const std::unique_lock lock{mutex_};
  reload_worked_ = worked;
  if (worked) last_reload_us_ = event::now();
}

void LiveDaemon::attach(Daemon& daemon) {
  const std::unique_lock lock{mutex_};
  daemon_ = &daemon;
  attached_ = Clock::now();
  attended_ = attached_;
  was_attached_ = true;
}

void LiveDaemon::stopping() {
  const std::unique_lock lock{mutex_};
  stopping_ = true;
}

void LiveDaemon::detach() {
  const std::unique_lock lock{mutex_};
  daemon_ = nullptr;
}

admin::Health LiveDaemon::health(admin::Probe probe) const {
  const std::shared_lock lock{mutex_};
  switch (probe) {
    case admin::Probe::live: {
      // Before it has started and while it stops others watch over the time it takes.
      const auto within = longest_standstill(settings_);
      const auto now = Clock::now();
      const bool is_new = now - attached_ < within;
      if (stopping_ || is_new || daemon_ == nullptr) return {};
      auto loops = daemon_->loops();
      loops.push_back({"inboxd", attended_.load()});
      const std::string still = base::standing_still(loops, now, within);
      if (still.empty()) return {};
      return {false, {"has stood still for more than " + config::duration_text(within) + ": " + still}};
    }
    case admin::Probe::started:
      if (was_attached_) return {};
      return {false, {"starting: database, migrations and plugins are looked at; the log says more"}};
    case admin::Probe::ready:
      if (stopping_) return {false, {"stopping"}};
      if (!was_attached_) return {false, {"starting"}};
      if (daemon_ != nullptr && daemon_->is_paused()) return {true, {"all handlers are paused in this instance"}};
      return {};
  }
  return {};
}

std::string LiveDaemon::metrics() const {
  Figures figures;
  figures.start_time = seconds_of(began_us_);
  figures.log_kinds = with_all_errors(log_.kinds());
  figures.log_lines_lost = log_.lost();
  figures.http = http_;
  // Held while the text is written: what is read must not go meanwhile.
  const std::shared_lock lock{mutex_};
  figures.reload_worked = reload_worked_;
  figures.last_reload = seconds_of(last_reload_us_);
  figures.is_ready = was_attached_ && !stopping_;
  if (daemon_ != nullptr) gather(*daemon_, figures);
  return metrics_text(figures);
}

Document LiveDaemon::describe() const {
  Document out{{"instance_id", owner_.text()},
               {"version", INBOXD_VERSION},
               {"started_at", config::time_text(began_us_)},
               {"group", settings_.kafka.group}};
  const std::shared_lock lock{mutex_};
  out["state"] = stopping_ ? "stopping" : daemon_ == nullptr ? "starting" : "running";
  if (daemon_ == nullptr) return out;
  out["paused"] = daemon_->is_paused();
  out["partitions"] = Document::array();
  for (const auto& entry : daemon_->consumer().board().entries())
    out["partitions"].push_back(partition_document(entry));
  out["handlers"] = Document::array();
  for (const auto& [id, name] : daemon_->handlers()) {
    out["handlers"].push_back(handler_document(name, daemon_->dispatcher().stats(id)));
  }
  const auto& in = daemon_->consumer().counts();
  const auto& settled = daemon_->settler().counters();
  out["since_start"] = {{"stored", in.stored.load()},           {"duplicates", in.duplicates.load()},
                        {"quarantined", in.quarantined.load()}, {"conflicts", in.conflicts.load()},
                        {"done", settled.done.load()},          {"retried", settled.retried.load()},
                        {"dead", settled.dead.load()},          {"leases_lost", settled.lost.load()}};
  return out;
}

config::Loaded LiveDaemon::in_force() const {
  const std::shared_lock lock{mutex_};
  return in_force_;
}

void LiveDaemon::set_in_force(const config::Loaded& loaded) {
  const std::unique_lock lock{mutex_};
  in_force_ = loaded;
}

bool LiveDaemon::pause_all(bool paused, const std::string& actor) {
  const std::shared_lock lock{mutex_};
  return daemon_ != nullptr && !stopping_ && daemon_->pause_all(paused, actor);
}

}  // namespace inboxd::daemon
