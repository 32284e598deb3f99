#pragma once
#include <string>
#include <vector>

#include "cli/present.hpp"
#include "cli/session.hpp"

namespace inboxd::cli {

/// The answer of a database that shares topics.
struct ShardAnswer {
  int index = 0;
  operations::Answer answer;
};

/// The answers as one. Rows get the field `shard`, numbers are added up, and the exit status is the worst. Answers
/// about a single thing (`is_about_one`): of the first database that has it. Pure.
operations::Answer merged(std::vector<ShardAnswer> answers, bool is_about_one);

/// Runs a read on each of the databases in --shards, one after the other, and shows their answers as one.
base::ExitCode read_shards(const Session& session, const operations::Operation& operation,
                           const operations::Arguments& arguments, Presenter presenter,
                           const config::NeedsSecret& needs_secret);

/// Refuses --shards for a command that runs on one database.
base::ExitCode refuse_shards(const Session& session, const std::string& verb);

}  // namespace inboxd::cli
