#include "cli/session.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ostream>
#include <utility>

#include "base/text.hpp"
#include "daemon/load_configuration.hpp"

namespace inboxd::cli {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void Session::say(const std::string& message) const {
  output.messages << "inboxd: " << one_line(message) << '\n' << std::flush;
}

std::optional<config::Loaded> Session::load(bool offline) const {
  return checked(daemon::load_configuration(config_file, offline));
}

std::optional<config::Loaded> Session::load_with(config::NeedsSecret needs_secret) const {
  return checked(daemon::load_configuration(config_file, std::move(needs_secret)));
}

std::optional<config::Loaded> Session::checked(config::Loaded loaded) const {
  if (loaded.ok()) return loaded;
  for (const auto& problem : loaded.problems) say(problem.text());
  return std::nullopt;
}

void Session::print(const operations::Document& document) const {
  const std::string text = document.dump(2, ' ', false, operations::Document::error_handler_t::replace);
  output.out << base::escape_json_controls(text) << '\n' << std::flush;
}

base::Logger command_log() { return base::Logger{base::LogLevel::warn, base::LogFormat::text}; }

std::string actor() {
  std::string name = environment("SUDO_USER");
  if (name.empty()) {
    const passwd* const entry = ::getpwuid(::getuid());
    name = entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return name;
  return name + "@" + host.data();
}

}  // namespace inboxd::cli
