#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/present.hpp"
#include "cli/session.hpp"
#include "cli/shard_answers.hpp"

namespace inboxd::cli {

/// A database of --shards, by its configuration.
struct Shard {
  std::string file;
  config::Settings settings;
};

/// Why these are not all of the databases that share topics, each once; empty: they are. Pure.
std::string problem_of_list(std::span<const Shard> shards);

/// The databases of --shards; nullopt: the list or a configuration has problems, which were all printed.
std::optional<std::vector<Shard>> load_shards(const Session& session, const config::NeedsSecret& needs_secret);

/// The answers of several databases.
struct ShardAnswers {
  std::size_t answered = 0;
  operations::Answer all;            ///< of the databases that answered, as one
  std::vector<std::string> away;     ///< a sentence for each database that did not answer
  std::vector<std::string> remarks;  ///< messages of databases that answered
  std::string not_shown;             ///< what a list of several databases leaves out; empty: nothing
  base::ExitCode worst = base::ExitCode::done;
};

/// Runs a read on all databases at the same time.
ShardAnswers ask_shards(const Session& session, std::span<const Shard> shards, const operations::Operation& operation,
                        const operations::Arguments& arguments);

/// Runs a read on each of the databases in --shards, and shows their answers as one.
base::ExitCode read_shards(const Session& session, const operations::Operation& operation,
                           const operations::Arguments& arguments, Presenter presenter,
                           const config::NeedsSecret& needs_secret);

/// The refusal of a command that does not read several databases, with its remedy. Pure.
std::string why_not_all(const std::string& verb, const std::vector<std::string>& files);

/// Refuses --shards for such a command.
base::ExitCode refuse_shards(const Session& session, const std::string& verb);

}  // namespace inboxd::cli
