#include "daemon/secret_files.hpp"

namespace inboxd::daemon {
namespace {

constexpr std::chrono::seconds look_interval{2};

/// Handlers of plugin `kafka` get the daemon's own properties, too. Topics have tokens and secrets of senders.
bool is_for_reload(const std::string& key) {
  return key.starts_with("handlers[") || key.starts_with("topics[") || key.starts_with("kafka.");
}

}  // namespace

bool SecretFiles::have_changed(const config::Loaded& in_force, Clock::time_point now) {
  if (now < next_look_) return false;
  next_look_ = now + look_interval;
  bool found = false;
  for (const auto& [key, secret] : in_force.secrets) {
    if (secret.file().empty() || !is_for_reload(key)) continue;
    std::string text = secret.now();
    std::string& tried = tried_[key];
    if (text == tried) continue;
    found = found || text != secret.reveal();
    tried = std::move(text);
  }
  return found;
}

}  // namespace inboxd::daemon
