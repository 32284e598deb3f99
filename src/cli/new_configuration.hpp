#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/record_survey.hpp"

namespace inboxd::cli {

/// What a person has said about a new configuration.
struct NewConfiguration {
  std::string brokers;
  std::string topic;
  std::string database_url;      ///< without the password
  bool has_password = false;     ///< it was left out of database_url
  std::vector<std::string> kafka_properties;  ///< lines of YAML
};

/// Of the section database, in place of a password that was given.
inline constexpr const char* password_line =
    "  password: {env: INBOXD_DATABASE_PASSWORD}   # not copied: set the variable, or use {file: /path}\n";

/// `NAME=VALUE` as a line of kafka.properties of the file `out`. A secret is given as env:NAME or file:PATH, so that it
/// is in no file and on no command line; the problem has the remedy, and does not repeat the value. A relative PATH
/// begins at the working directory.
base::Result<std::string> kafka_property(const std::string& text, const std::string& out);

/// A commented configuration for the records that were seen.
std::string configuration_for(const NewConfiguration& wanted, const RecordSurvey& survey);

}  // namespace inboxd::cli
