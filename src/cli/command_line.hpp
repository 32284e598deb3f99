#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/exit_code.hpp"
#include "cli/command.hpp"

namespace inboxd::cli {

/// A command line as typed: a row of the table with its unchecked arguments.
struct Parsed {
  const Command* command = nullptr;
  std::map<std::string, std::vector<std::string>> given;
  std::string config_file;  ///< empty: not given
  bool json = false;
  std::string shards_file;  ///< empty: not given
};

/// A text instead of a command: help (code done, for stdout) or a usage error (for stderr).
struct Said {
  base::ExitCode code = base::ExitCode::done;
  std::string text;
};

/// Reads the words after the program's name. The result points into the table. Never throws.
std::variant<Parsed, Said> parse(const std::vector<Command>& table, const std::vector<std::string>& words);

/// The configuration file: the option, $INBOXD_CONFIG, or the default.
std::string config_file_of(const Parsed& parsed);

}  // namespace inboxd::cli
