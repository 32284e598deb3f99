#include "daemon/daemon_view.hpp"

#include <algorithm>

#include "base/log_messages.hpp"
#include "base/mutex.hpp"
#include "config/units.hpp"
#include "daemon/metrics.hpp"
#include "event/now.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::daemon {
namespace {

using operations::Document;

/// After the last lost line of the log.
constexpr std::chrono::seconds losing_interval{60};

double seconds_of(std::int64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }

/// Converts a steady-clock time to wall-clock time.
double wall_time_of(std::chrono::steady_clock::time_point moment) {
  const std::chrono::duration<double> ago = std::chrono::steady_clock::now() - moment;
  return seconds_of(event::now()) - ago.count();
}

/// Adds the errors that have not happened: an alert cannot see a counter rise to its first value.
std::vector<base::Logger::Kind> with_all_errors(std::vector<base::Logger::Kind> kinds) {
  for (const base::LogMessage& message : base::log_messages()) {
    if (message.level != base::LogLevel::error) continue;
    const bool has_happened = std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.level == base::LogLevel::error && kind.slug == message.slug;
    });
    if (!has_happened) kinds.push_back({base::LogLevel::error, std::string{message.slug}, 0});
  }
  return kinds;
}

void gather(const Daemon& daemon, Figures& out) {
  if (daemon.consumer().reads_kafka()) {
    out.last_poll = wall_time_of(daemon.consumer().poller().heartbeat().last());
  }
  out.last_settle = wall_time_of(daemon.settler().heartbeat().last());
  out.is_paused = daemon.is_paused();
  out.partitions = daemon.consumer().status().entries();
  out.unknown_topics = daemon.consumer().status().unknown_topics();
  out.remade_clients = daemon.consumer().remade();
  out.kafka_errors = daemon.consumer().status().errors();
  const auto outcomes = daemon.settler().outcomes().all();
  for (const auto& [id, name] : daemon.handlers()) {
    const auto found = outcomes.find(id);
    out.handlers.push_back(
        {name, daemon.dispatcher().stats(id),
         found == outcomes.end() ? settler::OutcomeCounts::Handler{} : found->second});
  }
  out.observed = daemon.maintenance().observed();
  out.ingest = &daemon.consumer().counts();
  out.settled = &daemon.settler().counters();
  out.connections = &daemon.connections();
  out.traces = &daemon.traces();
  if (daemon.webhooks().is_on()) out.webhooks = &daemon.webhooks();
  if (daemon.relay().is_on()) out.relay = &daemon.relay().counts();
}

/// What a person should know of a daemon that is ready.
std::vector<std::string> reasons_of(const Daemon* daemon) {
  std::vector<std::string> out;
  if (daemon == nullptr) return out;
  if (daemon->is_paused()) out.emplace_back("all handlers are paused in this instance");
  for (const auto& finding : operations::partition_findings(daemon->maintenance().observed().readings, event::now())) {
    out.push_back(finding.message);
  }
  return out;
}

Document partition_document(const consumer::PartitionStatus::Entry& entry) {
  const auto known = [](std::int64_t offset) { return offset < 0 ? Document(nullptr) : Document(offset); };
  const auto lag = entry.lag(consumer::PartitionStatus::Clock::now());
  return {{"topic", entry.partition.topic},
          {"partition", entry.partition.partition},
          {"state", name_of(entry.state)},
          {"position", known(entry.position)},
          {"high_watermark", known(entry.high_watermark)},
          {"lag", lag ? Document(*lag) : Document(nullptr)},
          {"received", entry.received}};
}

Document handler_document(const std::string& name, const dispatcher::Stats& stats) {
  return {{"handler", name},
          {"in_flight", stats.in_flight},
          {"in_flight_bytes", stats.in_flight_bytes},
          {"queued", stats.queued},
          {"per_second", stats.per_second},
          {"has_backlog", stats.backlog},
          {"paused", stats.paused},
          {"stopped", stats.stopped},
          {"abandoned_calls", stats.abandoned},
          {"deadlines_passed", stats.deadlines},
          {"repeated_transactions", stats.repeated},
          {"released", stats.released}};
}

}  // namespace

DaemonView::DaemonView(const config::Settings& settings, base::Uuid owner, const base::Logger& log)
    : settings_{settings}, owner_{owner}, log_{log}, began_us_{event::now()}, last_reload_us_{began_us_} {}

void DaemonView::reloaded(bool succeeded) {
  const base::WriterLock lock{mutex_};
  last_reload_succeeded_ = succeeded;
  if (succeeded) last_reload_us_ = event::now();
}

void DaemonView::beat() {
  heartbeat_.beat();
  const auto now = Clock::now();
  if (const auto lost = log_.lost(); lost != lost_lines_) {
    lost_lines_ = lost;
    line_lost_ = now;
  }
  loses_lines_ = lost_lines_ > 0 && now - line_lost_ < losing_interval;
}

void DaemonView::attach(Daemon& daemon) {
  const base::WriterLock lock{mutex_};
  daemon_ = &daemon;
  attached_ = Clock::now();
  heartbeat_.beat();
  was_attached_ = true;
}

void DaemonView::stopping() {
  const base::WriterLock lock{mutex_};
  stopping_ = true;
}

void DaemonView::detach() {
  const base::WriterLock lock{mutex_};
  daemon_ = nullptr;
}

operations::Health DaemonView::health(operations::Probe probe) const {
  const base::ReaderLock lock{mutex_};
  switch (probe) {
    case operations::Probe::live: {
      // systemd and Kubernetes have limits of their own for a start and a stop.
      const auto limit = stall_limit(settings_);
      const auto now = Clock::now();
      const bool is_new = now - attached_ < limit;
      if (stopping_ || is_new || daemon_ == nullptr) return {};
      auto loops = daemon_->loops();
      loops.push_back({"inboxd", heartbeat_.last()});
      const std::string stalled = base::stalled_loops(loops, now, limit);
      if (stalled.empty()) return {};
      return {false, {"stalled for more than " + config::duration_text(limit) + ": " + stalled}};
    }
    case operations::Probe::started:
      if (was_attached_) return {};
      return {false, {"starting: database, migrations and plugins; see the log"}};
    case operations::Probe::ready:
      if (stopping_) return {false, {"stopping"}};
      if (!was_attached_) return {false, {"starting"}};
      if (loses_lines_) {
        return {false, {"the reader of the log does not keep up: " + std::to_string(log_.lost()) + " lines are lost"}};
      }
      return {true, reasons_of(daemon_)};
  }
  return {};
}

std::string DaemonView::metrics() const {
  Figures figures;
  figures.start_time = seconds_of(began_us_);
  figures.log_kinds = with_all_errors(log_.kinds());
  figures.log_lines_lost = log_.lost();
  figures.http = http_;
  // Held while the text is written: it reads counters of the daemon's parts.
  const base::ReaderLock lock{mutex_};
  figures.last_reload_succeeded = last_reload_succeeded_;
  figures.last_reload = seconds_of(last_reload_us_);
  figures.is_ready = was_attached_ && !stopping_;
  if (daemon_ != nullptr) gather(*daemon_, figures);
  return metrics_text(figures);
}

Document DaemonView::describe() const {
  Document out{{"instance_id", owner_.text()},
               {"version", INBOXD_VERSION},
               {"started_at", config::time_text(began_us_)},
               {"group", settings_.kafka.group}};
  const base::ReaderLock lock{mutex_};
  out["state"] = stopping_ ? "stopping" : daemon_ == nullptr ? "starting" : "running";
  if (daemon_ == nullptr) return out;
  out["paused"] = daemon_->is_paused();
  out["partitions"] = Document::array();
  for (const auto& entry : daemon_->consumer().status().entries())
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
                        {"dead", settled.dead.load()},          {"expired", settled.expired.load()},
                        {"leases_lost", settled.lost.load()}};
  return out;
}

history::View DaemonView::history(history::Span span) const {
  const base::ReaderLock lock{mutex_};
  return daemon_ == nullptr ? history::History{}.view(span) : daemon_->history().view(span);
}

std::vector<history::Mark> DaemonView::marks() const {
  const base::ReaderLock lock{mutex_};
  return daemon_ == nullptr ? std::vector<history::Mark>{} : daemon_->history().marks();
}

operations::RunningDaemon::Identity DaemonView::identity() const {
  return {owner_, identity_of(owner_, settings_).host, began_us_};
}

config::Loaded DaemonView::in_force() const {
  const base::ReaderLock lock{mutex_};
  return in_force_;
}

void DaemonView::set_in_force(const config::Loaded& loaded) {
  const base::WriterLock lock{mutex_};
  in_force_ = loaded;
}

bool DaemonView::pause_all(bool paused, const std::string& actor) {
  const base::ReaderLock lock{mutex_};
  return daemon_ != nullptr && !stopping_ && daemon_->pause_all(paused, actor);
}

}  // namespace inboxd::daemon
