#include "daemon/reload.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "base/crash_report.hpp"
#include "daemon/load_configuration.hpp"

namespace inboxd::daemon {

using namespace std::chrono_literals;

namespace {

constexpr auto look_again = 20ms;

/// Handlers whose running calls end before their order changes. The change ends all leases, so that events are called
/// again at once, in the new order, and a call of before would run beside them.
class OrderChange final {
 public:
  OrderChange(Daemon& daemon, std::set<std::int32_t> handlers) : daemon_{daemon}, handlers_{std::move(handlers)} {
    daemon_.close_for_order(handlers_, true);
  }
  ~OrderChange() {
    if (!is_done_) daemon_.close_for_order(handlers_, false);
  }
  OrderChange(const OrderChange&) = delete;
  OrderChange& operator=(const OrderChange&) = delete;

  std::int64_t events() const { return daemon_.events_of(handlers_); }
  /// They stay closed until they are replaced.
  void is_registered() { is_done_ = true; }

 private:
  Daemon& daemon_;
  const std::set<std::int32_t> handlers_;
  bool is_done_ = false;
};

}  // namespace

Reload::Reload(config::Loaded& loaded, std::string file, inbox::InstanceIdentity instance, plugin::Loader& plugins,
               inbox::Connection& connection, inbox::Watchdog& watchdog, Daemon& daemon, base::Logger& log)
    : loaded_{loaded},
      file_{std::move(file)},
      instance_{std::move(instance)},
      plugins_{plugins},
      connection_{connection},
      watchdog_{watchdog},
      daemon_{daemon},
      log_{log} {}

Reload::Step Reload::change(Step to) {
  const Step before = step_.exchange(to);
  assert(before != Step::abandoned || to == Step::read);
  return before;
}

bool Reload::begin() {
  if (is_running() || !std::exchange(is_requested_, false)) return false;
  try {
    change(Step::reading);
    reading_ = std::async(std::launch::async, [this, before = loaded_, reads_file = std::exchange(reads_file_, false)] {
      Read out = reads_file ? read(before.settings, load_configuration(file_), false)
                            : read(before.settings, with_new_secrets(before), true);
      // Destroyed on this thread, because a plugin's `destroy` may take long.
      if (change(Step::read) == Step::abandoned) out.prepared.handlers.clear();
      return out;
    });
    return true;
  } catch (const std::system_error& error) {
    refuse(error.what());
    has_failed_to_begin_ = true;
    return false;
  }
}

std::optional<bool> Reload::finish() {
  if (std::exchange(has_failed_to_begin_, false)) return false;
  if (!is_running() || reading_.wait_for(0s) != std::future_status::ready) return std::nullopt;
  Read read;
  try {
    read = reading_.get();
  } catch (const std::exception& error) {
    refuse(error.what());
    return false;
  }
  if (read.is_refused) {
    daemon_.discard(std::move(read.prepared.handlers));
    return false;
  }
  take(std::move(read));
  return true;
}

void Reload::request_stop() {
  is_requested_ = false;
  if (!is_running() || change(Step::abandoned) != Step::read) return;
  daemon_.discard(reading_.get().prepared.handlers);
}

bool Reload::join(std::chrono::steady_clock::time_point until) {
  return !is_running() || reading_.wait_until(until) == std::future_status::ready;
}

std::set<std::int32_t> Reload::reordered(const config::Settings& next) const {
  std::set<std::int32_t> out;
  for (const inbox::Registered& now : daemon_.registered()) {
    for (const config::Handler& handler : next.handlers) {
      const bool is_same = handler.name == now.handler.name ||
                           std::ranges::find(handler.aliases, now.handler.name) != handler.aliases.end();
      if (is_same && config::order_text(handler) != config::order_text(now.handler)) out.insert(now.handler_id);
    }
  }
  return out;
}

void Reload::refuse(const std::string& reason) { log_.error("daemon.reload_refused", {{"reason", reason}}); }

Reload::Read Reload::read(const config::Settings& before, const config::Loaded& loaded, bool is_in_force) {
  if (!loaded.ok()) {
    for (const auto& problem : loaded.problems) {
      log_.error("daemon.reload_refused", {{"problem", problem.text()}});
    }
    return {.is_refused = true};
  }
  for (const std::string& key : config::restart_needed(before, loaded.settings)) {
    log_.warn("daemon.restart_needed", {{"key", key}});
  }
  config::Settings next = before;  // keys that need a restart keep their value
  next.handlers = loaded.settings.handlers;
  OrderChange change{daemon_, reordered(next)};
  const auto deadline = std::chrono::steady_clock::now() + before.drain;
  while (change.events() > 0 && std::chrono::steady_clock::now() < deadline && step_ != Step::abandoned) {
    std::this_thread::sleep_for(look_again);
  }
  if (step_ == Step::abandoned) return {.is_refused = true};
  if (change.events() > 0) log_.warn("daemon.reload_beside_calls", {{"events", change.events()}});
  auto prepared = prepare_handlers(connection_, next, loaded, instance_, plugins_, watchdog_, log_,
                                   daemon_.registered(), is_in_force);
  if (prepared.refusal) {
    refuse(prepared.refusal->message);
    return {.prepared = std::move(prepared), .is_refused = true};
  }
  change.is_registered();
  return {loaded, std::move(prepared)};
}

void Reload::take(Read read) {
  daemon_.replace_handlers(std::move(read.prepared));
  // Only these: running threads read the others.
  config::Settings& settings = loaded_.settings;
  config::keep_origins(config::restart_needed(settings, read.loaded.settings), loaded_.origins, read.loaded.origins);
  settings.handlers = std::move(read.loaded.settings.handlers);
  settings.log = read.loaded.settings.log;
  settings.retention = read.loaded.settings.retention;
  config::take_local_topics(settings.topics, read.loaded.settings.topics);
  config::take_retention(settings.topics, read.loaded.settings.topics);
  settings.drain = read.loaded.settings.drain;
  loaded_.origins = std::move(read.loaded.origins);
  loaded_.secrets = std::move(read.loaded.secrets);
  loaded_.text = std::move(read.loaded.text);
  daemon_.set_retention(settings);
  if (settings.has_local_topics()) daemon_.read_local_topics();
  daemon_.set_webhooks(settings);
  log_.set_level(settings.log.level);
  log_.set_format(format_of(settings.log));
  base::report_crashes(format_of(settings.log));
  log_.info("daemon.reloaded", {{"handlers", settings.handlers.size()}});
}

}  // namespace inboxd::daemon
