#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "base/exit_code.hpp"
#include "base/log.hpp"
#include "cli/look.hpp"
#include "config/load.hpp"

namespace inboxd::cli {

/// Where a command writes: what was asked for to `out`, everything else to `messages`.
struct Output {
  std::ostream& out;
  std::ostream& messages;
  Look look;                                   ///< of `out`
  Look message_look;                           ///< of `messages`
  bool messages_are_seen = false;              ///< a person watches: progress may overwrite its line
  bool can_ask = false;                        ///< and can answer
};

/// What every command gets: where to write, and what was said before its name.
struct Session {
  Output output;
  std::string config_file;
  bool json = false;

  /// `inboxd: …` on stderr, one line.
  void say(const std::string& message) const;
  /// Loads the configuration; where something is wrong, all of it is said and nothing comes back.
  /// `offline`: secrets stay empty.
  std::optional<config::Loaded> load(bool offline = false) const;
  /// One JSON document on stdout.
  void print(const admin::Document& document) const;
};

/// The log of commands that are no daemon: warnings and errors, as text.
base::Logger command_log();

/// Whose deed something is: USER@HOST.
std::string actor();

}  // namespace inboxd::cli
