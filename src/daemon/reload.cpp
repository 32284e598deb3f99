#include "daemon/reload.hpp"

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "daemon/configuration.hpp"
#include "daemon/log_format.hpp"

namespace inboxd::daemon {

using namespace std::chrono_literals;

Reload::Reload(config::Loaded& loaded, std::string file, inbox::InstanceIdentity instance,
               inbox::Connection& connection, inbox::Watchdog& watchdog, Daemon& daemon, base::Logger& log)
    : loaded_{loaded},
      file_{std::move(file)},
      instance_{std::move(instance)},
      connection_{connection},
      watchdog_{watchdog},
      daemon_{daemon},
      log_{log} {}

bool Reload::begin() {
  if (is_running() || !std::exchange(is_asked_for_, false)) return false;
  try {
    step_ = Step::reading;
    reading_ = std::async(std::launch::async, [this, before = loaded_.settings] {
      Read out = read(before);
      // Here, where nobody waits for it longer than a stop does: a plugin's `destroy` takes as long as it likes.
      if (step_.exchange(Step::read) == Step::unwanted) out.handlers.clear();
      return out;
    });
    return true;
  } catch (const std::system_error& error) {
    refuse(error.what());
    has_no_thread_ = true;
    return false;
  }
}

std::optional<bool> Reload::end() {
  if (std::exchange(has_no_thread_, false)) return false;
  if (!is_running() || reading_.wait_for(0s) != std::future_status::ready) return std::nullopt;
  Read read;
  try {
    read = reading_.get();
  } catch (const std::exception& error) {
    refuse(error.what());  // no reason to leave what is in hand
    return false;
  }
  if (read.is_refused) {
    daemon_.discard(std::move(read.handlers));
    return false;
  }
  take(std::move(read));
  return true;
}

void Reload::request_stop() {
  is_asked_for_ = false;
  if (!is_running() || step_.exchange(Step::unwanted) != Step::read) return;
  daemon_.discard(reading_.get().handlers);
}

bool Reload::join(std::chrono::steady_clock::time_point until) {
  return !is_running() || reading_.wait_until(until) == std::future_status::ready;
}

void Reload::refuse(const std::string& reason) {
  log_.error("daemon: reload refused, the old configuration stays", {{"reason", reason}});
}

Reload::Read Reload::read(const config::Settings& before) {
  const auto loaded = load_configuration(file_);
  if (!loaded.ok()) {
    for (const auto& problem : loaded.problems) {
      log_.error("daemon: reload refused, the old configuration stays", {{"problem", problem.text()}});
    }
    return {.is_refused = true};
  }
  for (const std::string& key : config::restart_needed(before, loaded.settings)) {
    log_.warn("daemon: this key needs a restart; its old value stays", {{"key", key}});
  }
  config::Settings next = before;  // what needs a restart stays
  next.handlers = loaded.settings.handlers;
  auto prepared = prepare_handlers(connection_, next, instance_, watchdog_, log_, daemon_.registered());
  if (prepared.refusal) {
    refuse(prepared.refusal->message);
    return {.handlers = std::move(prepared.handlers), .is_refused = true};
  }
  return {loaded, std::move(prepared.handlers)};
}

void Reload::take(Read read) {
  daemon_.replace_handlers(std::move(read.handlers));
  // No more than these: running threads read the others.
  config::Settings& settings = loaded_.settings;
  config::keep_origins(config::restart_needed(settings, read.loaded.settings), loaded_.origins, read.loaded.origins);
  settings.handlers = std::move(read.loaded.settings.handlers);
  settings.log = read.loaded.settings.log;
  settings.retention = read.loaded.settings.retention;
  settings.drain = read.loaded.settings.drain;
  loaded_.origins = std::move(read.loaded.origins);
  daemon_.set_retention(settings.retention);
  log_.set_level(settings.log.level);
  log_.set_format(format_of(settings.log));
  log_.info("daemon: reloaded", {{"handlers", settings.handlers.size()}});
}

}  // namespace inboxd::daemon
