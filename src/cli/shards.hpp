#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/present.hpp"
#include "cli/session.hpp"

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

/// The answer of a database that shares topics.
struct ShardAnswer {
  int index = 0;
  operations::Answer answer;
  std::string file = {};  ///< its configuration
};

/// The answers as one. Rows get the field `shard`, numbers are added up, and the exit status is the worst. Answers
/// about a single thing (`is_about_one`): of the database that has it; refused if several have it. Pure.
operations::Answer merged(std::vector<ShardAnswer> answers, bool is_about_one);

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

/// Names the databases that are away: as the first problems of a status, else as the list `away`. Pure.
void name_away(operations::Document& document, const std::vector<std::string>& away);

/// Runs a read on each of the databases in --shards, and shows their answers as one.
base::ExitCode read_shards(const Session& session, const operations::Operation& operation,
                           const operations::Arguments& arguments, Presenter presenter,
                           const config::NeedsSecret& needs_secret);

/// The refusal of a command that does not read several databases, with its remedy. Pure.
std::string why_not_all(const std::string& verb, const std::vector<std::string>& files);

/// Refuses --shards for such a command.
base::ExitCode refuse_shards(const Session& session, const std::string& verb);

}  // namespace inboxd::cli
