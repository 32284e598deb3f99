#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "base/logger.hpp"
#include "cli/terminal_text.hpp"
#include "config/load.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// The streams of a command: results go to `out`, everything else to `messages`.
struct Output {
  std::ostream& out;
  std::ostream& messages;
  Look look;                       ///< of `out`
  Look message_look;               ///< of `messages`
  bool messages_are_seen = false;  ///< a terminal: progress may overwrite its line
  bool can_ask = false;            ///< stdin is a terminal, too
};

/// The surroundings of every command: its streams and the options common to all.
struct Session {
  Output output;
  std::string config_file;
  bool json = false;
  std::string shards_file = {};  ///< a list of configurations, for one read of all; empty: config_file

  /// `inboxd: …` on stderr, in a single line.
  void say(const std::string& message) const;
  /// Loads the configuration; nullopt: it has problems, which were all printed.
  /// `offline`: secrets stay empty.
  std::optional<config::Loaded> load(bool offline = false) const;
  /// As load(), with the secrets that the command needs. It works without those of senders, handlers and the like.
  std::optional<config::Loaded> load_with(config::NeedsSecret needs_secret) const;
  /// A JSON document on stdout.
  void print(const operations::Document& document) const;

 private:
  std::optional<config::Loaded> checked(config::Loaded loaded) const;
};

/// The log of commands other than `run`: warnings and errors, as text.
base::Logger command_log();

/// An environment variable; empty: not set.
std::string environment(const char* name);

/// The actor for the audit: USER@HOST.
std::string actor();

}  // namespace inboxd::cli
