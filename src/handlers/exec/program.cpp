#include "program.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "settings.hpp"
#include "trusted_program.hpp"

namespace exec_handler {
namespace {

using inboxd::SettingsError;
using nlohmann::json;

constexpr const char* path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::int64_t max_open_files = 1'048'576;
constexpr std::int64_t mebibyte = 1 << 20;

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& right) {
  throw SettingsError{"setting '" + name + "' is '" + value + "'; it must be " + right};
}

bool is_program(const std::string& file) {
  struct stat about {};
  return stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) && access(file.c_str(), X_OK) == 0;
}

/// nullopt: there is no such program.
std::optional<std::string> found_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? std::optional{name} : std::nullopt;
  const std::string all = path;
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(':', begin), all.size());
    const std::string file = all.substr(begin, end - begin) + "/" + name;
    if (is_program(file)) return file;
    begin = end + 1;
  }
  return std::nullopt;
}

/// A tool of the system; part of Debian's essential packages.
std::string tool(const std::string& name, const std::string& setting) {
  const auto file = found_in_path(name);
  if (!file) throw SettingsError{"setting '" + setting + "' needs the program " + name + ", which is not installed"};
  return *file;
}

std::vector<std::string> command_of(const inboxd::Settings& settings) {
  const std::string text = settings.text("command");
  const json list = json::parse(text, nullptr, false);
  const auto is_text = [](const json& each) { return each.is_string() || each.is_number() || each.is_boolean(); };
  if (!list.is_array() || list.empty() || !std::all_of(list.begin(), list.end(), is_text)) {
    refuse("command", text, "a list of program and arguments, such as [python3, /opt/handler.py]; there is no shell");
  }
  std::vector<std::string> out;
  for (const json& each : list) out.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  const auto file = found_in_path(out.front());
  if (!file) {
    throw SettingsError{"setting 'command': there is no program '" + out.front() + "' that may be run; give its path" +
                        (out.front().find('/') == std::string::npos ? std::string{", or one in "} + path : "")};
  }
  out.front() = *file;
  return out;
}

Mode mode_of(const std::string& text) {
  if (text == "stream") return Mode::stream;
  if (text == "once") return Mode::once;
  refuse("mode", text, "stream or once");
}

/// Clean: nothing of the daemon's own environment, which may have secrets.
std::vector<std::string> environment_of(const inboxd::Settings& settings) {
  std::vector<std::string> out{std::string{"PATH="} + path, "LANG=C.UTF-8"};
  if (!settings.has("environment")) return out;
  const std::string text = settings.text("environment");
  const json map = json::parse(text, nullptr, false);
  if (!map.is_object()) throw SettingsError{"setting 'environment' must be a map, such as {TZ: UTC}"};
  for (const auto& [name, value] : map.items()) {
    if (name.empty() || name.find('=') != std::string::npos || value.is_structured() || value.is_null()) {
      throw SettingsError{"setting 'environment': " + name + " must be a name without = that has one value"};
    }
    out.push_back(name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return out;
}

void add_user(const inboxd::Settings& settings, std::vector<std::string>& prefix) {
  if (!settings.has("user")) return;
  const std::string name = settings.text("user");
  const passwd* const user = getpwnam(name.c_str());  // [main]: a single thread at a time
  if (user == nullptr) throw SettingsError{"setting 'user': there is no user '" + name + "' on this machine"};
  if (user->pw_uid == geteuid()) return;
  if (geteuid() != 0) {
    throw SettingsError{"setting 'user' is '" + name +
                        "', but the daemon is not root and cannot change to another user; run it as that user"};
  }
  const std::vector<std::string> words{tool("setpriv", "user"),
                                       "--reuid=" + name,
                                       "--regid=" + std::to_string(user->pw_gid),
                                       "--init-groups",
                                       "--inh-caps=-all",
                                       "--no-new-privs",
                                       "--"};
  prefix.insert(prefix.end(), words.begin(), words.end());
}

/// The users whose files may be run: the daemon's user, and the user that the program runs as.
std::vector<uid_t> trusted_users(const inboxd::Settings& settings) {
  std::vector<uid_t> out{geteuid()};
  if (const passwd* const user = settings.has("user") ? getpwnam(settings.text("user").c_str()) : nullptr) {
    out.push_back(user->pw_uid);
  }
  return out;
}

/// Refuses a program that others could exchange. Arguments may be data: an argument that could be a script is warned
/// about.
void check_trust(const inboxd::Settings& settings, const std::vector<std::string>& command) {
  const auto users = trusted_users(settings);
  if (const auto why = why_untrusted(command.front(), users)) {
    throw SettingsError{"setting 'command': the program is not run: " + *why};
  }
  for (std::size_t i = 1; i < command.size(); ++i) {
    struct stat about {};
    if (!command[i].starts_with('/')) continue;
    if (stat(command[i].c_str(), &about) != 0) {
      settings.log().warn("setting 'command': there is no file " + command[i] + "; is it a script that is missing?");
      continue;
    }
    if (!S_ISREG(about.st_mode)) continue;
    if (const auto why = why_untrusted(command[i], users)) {
      settings.log().warn("setting 'command': others could exchange the file: " + *why);
    }
  }
}

void add_limits(const inboxd::Settings& settings, std::vector<std::string>& prefix) {
  const std::int64_t nice = settings.number("nice", table.number("nice"));
  if (nice < 0 || nice > 19) refuse("nice", std::to_string(nice), "0 (normal) to 19 (lowest priority)");
  const std::int64_t memory = settings.number("memory_mib", table.number("memory_mib"));
  if (memory < 0) refuse("memory_mib", std::to_string(memory), "MiB of address space, or 0: no limit");
  const std::int64_t files = settings.number("open_files", table.number("open_files"));
  if (files != 0 && (files < 16 || files > max_open_files)) {
    refuse("open_files", std::to_string(files), "16 to 1048576, or 0: as the daemon");
  }
  if (memory > 0 || files > 0) {
    prefix.push_back(tool("prlimit", memory > 0 ? "memory_mib" : "open_files"));
    if (memory > 0) prefix.push_back("--as=" + std::to_string(memory * mebibyte));
    if (files > 0) prefix.push_back("--nofile=" + std::to_string(files));
  }
  if (nice > 0) prefix.insert(prefix.end(), {tool("nice", "nice"), "-n", std::to_string(nice)});
}

}  // namespace

Program program_of(const inboxd::Settings& settings) {
  Program out;
  out.mode = mode_of(settings.text("mode", table.text("mode")));
  out.sends_raw = handlers::is_raw(settings.text("payload", table.text("payload")));
  out.environment = environment_of(settings);
  out.folder = settings.text("folder", table.text("folder"));
  add_limits(settings, out.command);  // before the user changes: raising a limit needs root
  add_user(settings, out.command);
  const auto command = command_of(settings);
  check_trust(settings, command);
  out.command.insert(out.command.end(), command.begin(), command.end());
  struct stat about {};
  if (stat(out.folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) refuse("folder", out.folder, "a folder");
  return out;
}

}  // namespace exec_handler
