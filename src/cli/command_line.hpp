#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/exit_code.hpp"
#include "cli/command.hpp"

namespace inboxd::cli {

/// What somebody typed, understood: a row of the table with what it was given, not checked yet.
struct Parsed {
  const Command* command = nullptr;
  std::map<std::string, std::vector<std::string>> given;
  std::string config_file;                     ///< empty: not given
  bool json = false;
};

/// Nothing to run: help was asked for (code done, for stdout), or something is wrong (for stderr).
struct Said {
  base::ExitCode code = base::ExitCode::done;
  std::string text;
};

/// Reads the words behind the program's name. The commands must outlive what comes back. Never throws.
std::variant<Parsed, Said> parse(const std::vector<Command>& table, const std::vector<std::string>& words);

/// The file that the configuration is in: what was given, $INBOXD_CONFIG, or the default.
std::string config_file_of(const Parsed& parsed);

}  // namespace inboxd::cli
