// SPDX-License-Identifier: Apache-2.0
//
// The settings and the log of a handler in C++. Include <inboxd/handler.hpp>.
#pragma once

#include <inboxd/basics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inboxd {

// ---- Log ------------------------------------------------------------------------------------------------------------

// Lines in the daemon's log, with the handler's name. Any thread, as long as the handler lives.
class Log {
 public:
  explicit Log(const inboxd_host* host) : host_{host} {}
  void debug(std::string_view text) const { write(INBOXD_LOG_DEBUG, text); }
  void info(std::string_view text) const { write(INBOXD_LOG_INFO, text); }
  void warn(std::string_view text) const { write(INBOXD_LOG_WARN, text); }
  void error(std::string_view text) const { write(INBOXD_LOG_ERROR, text); }
  void write(std::int32_t level, std::string_view text) const { host_->log(host_, level, detail::bytes(text)); }

 private:
  const inboxd_host* host_;
};

// ---- Settings -------------------------------------------------------------------------------------------------------

// A mistake in the settings, with the remedy.
struct SettingsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The handler's `settings`, in its constructor only. A setting without a default is required; a setting that the
// constructor never reads is refused, as misspelt.
class Settings {
 public:
  Settings(const inboxd_host* host, const inboxd_config* config) : host_{host}, config_{config} {}
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  // The handler's name in the configuration.
  std::string_view handler() const { return detail::view(config_->handler); }
  Log log() const { return Log{host_}; }
  // The most events of a call, also in mode batch.
  std::size_t events_per_call() const { return config_->events_per_call; }

  bool has(std::string_view name) const { return find(name).has_value(); }

  std::string text(std::string_view name) const { return std::string{needed(name)}; }
  std::string text(std::string_view name, std::string otherwise) const {
    const MaybeText found = find(name);
    return found ? std::string{*found} : std::move(otherwise);
  }

  std::int64_t number(std::string_view name) const { return to_number(name, needed(name)); }
  std::int64_t number(std::string_view name, std::int64_t otherwise) const {
    const MaybeText found = find(name);
    return found ? to_number(name, *found) : otherwise;
  }

  bool boolean(std::string_view name) const { return to_boolean(name, needed(name)); }
  bool boolean(std::string_view name, bool otherwise) const {
    const MaybeText found = find(name);
    return found ? to_boolean(name, *found) : otherwise;
  }

  // `250ms 30s 5m 12h 7d`.
  Milliseconds duration(std::string_view name) const { return to_duration(name, needed(name)); }
  Milliseconds duration(std::string_view name, Milliseconds otherwise) const {
    const MaybeText found = find(name);
    return found ? to_duration(name, *found) : otherwise;
  }

  // Throws SettingsError for a configured setting that was never read. Called after the constructor.
  void finish() const {
    for (std::size_t i = 0; i < config_->setting_count; ++i) {
      const std::string_view name = detail::view(config_->settings[i].name);
      if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) refuse_unknown(name);
    }
  }

 private:
  MaybeText find(std::string_view name) const {
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) asked_.emplace_back(name);
    for (std::size_t i = 0; i < config_->setting_count; ++i) {
      if (detail::view(config_->settings[i].name) == name) return detail::view(config_->settings[i].value);
    }
    return std::nullopt;
  }

  std::string_view needed(std::string_view name) const {
    const MaybeText found = find(name);
    if (!found) throw SettingsError{"setting '" + std::string{name} + "' is missing; it has no default"};
    return *found;
  }

  [[noreturn]] void refuse_unknown(std::string_view name) const {
    std::string known;
    for (const std::string& other : asked_) known += (known.empty() ? "" : ", ") + other;
    throw SettingsError{"unknown setting '" + std::string{name} + "'; this plugin knows: " +
                        (known.empty() ? "none" : known)};
  }

  [[noreturn]] static void refuse(std::string_view name, std::string_view value, const char* right) {
    throw SettingsError{"setting '" + std::string{name} + "' is '" + std::string{value} + "'; it must be " + right};
  }

  // Removes a whole number from the beginning of `text`; nullopt if there is none or it is too large.
  static std::optional<std::int64_t> take_number(std::string_view& text) {
    const bool negative = !text.empty() && text.front() == '-';
    if (negative) text.remove_prefix(1);
    std::int64_t number = 0;
    std::size_t digits = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
      if (++digits > 18) return std::nullopt;
      number = number * 10 + (text.front() - '0');
    }
    if (digits == 0) return std::nullopt;
    return negative ? -number : number;
  }

  static std::int64_t to_number(std::string_view name, std::string_view value) {
    std::string_view rest = value;
    const std::optional<std::int64_t> number = take_number(rest);
    if (!number || !rest.empty()) refuse(name, value, "a whole number of at most 18 digits");
    return *number;
  }

  static bool to_boolean(std::string_view name, std::string_view value) {
    if (value == "true") return true;
    if (value != "false") refuse(name, value, "true or false");
    return false;
  }

  static Milliseconds to_duration(std::string_view name, std::string_view value) {
    struct Unit {
      std::string_view name;
      std::int64_t milliseconds;
    };
    static constexpr Unit units[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
    static constexpr std::int64_t most = 100 * 366 * units[4].milliseconds;
    std::string_view rest = value;
    const std::optional<std::int64_t> number = take_number(rest);
    const Unit* const unit =
        std::find_if(std::begin(units), std::end(units), [&](const Unit& each) { return each.name == rest; });
    const bool fits = number && unit != std::end(units) && *number >= 0 && *number <= most / unit->milliseconds;
    if (!fits) refuse(name, value, "a duration of at most 100 years such as 250ms, 30s, 5m, 12h or 7d");
    return Milliseconds{*number * unit->milliseconds};
  }

  const inboxd_host* host_;
  const inboxd_config* config_;
  mutable std::vector<std::string> asked_;
};

}  // namespace inboxd
