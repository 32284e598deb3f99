#pragma once
#include <chrono>
#include <inboxd/handler.hpp>
#include <string>
#include <vector>

/// The program that the settings name.
namespace exec_handler {

enum class Mode { stream, once };

/// The command to start: the tools of the system that set user, priority and limits (setpriv, nice, prlimit), then an
/// absolute path with its arguments. No shell.
struct Program {
  Mode mode = Mode::stream;
  bool sends_raw = false;                ///< `payload: raw`
  std::vector<std::string> command;
  std::vector<std::string> environment;  ///< all of it, NAME=VALUE
  std::string folder;                    ///< its working directory
};

/// Reads the settings. Throws inboxd::SettingsError for a command or user that does not exist, and for mistakes.
Program program_of(const inboxd::Settings& settings);

}  // namespace exec_handler
