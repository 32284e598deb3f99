#pragma once
#include <string>
#include <vector>

#include "operations/operation.hpp"

namespace inboxd::cli {

/// The answer of a database that shares topics.
struct ShardAnswer {
  int index = 0;
  operations::Answer answer;
  std::string file = {};  ///< its configuration
};

/// The answers as one. Rows get the field `shard`, numbers are added up, and the exit status is the worst. Answers
/// about a single thing (`is_about_one`): of the database that has it; refused if several have it. Pure.
operations::Answer merged(std::vector<ShardAnswer> answers, bool is_about_one);

/// Names the databases that are away: as the first problems of a status, else as the list `away`. Pure.
void name_away(operations::Document& document, const std::vector<std::string>& away);

/// A text whose commands run on the database of that configuration. Pure.
std::string own_commands(std::string text, const std::string& file);

}  // namespace inboxd::cli
