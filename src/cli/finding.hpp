#pragma once
#include <string>
#include <vector>

#include "config/settings.hpp"

namespace inboxd::cli {

/// One thing that `check` looked at.
struct Finding {
  enum class Kind {
    good,
    warning,                                   ///< works, but somebody should know
    problem,
    unreachable,                               ///< a problem, and nothing can be said before it is solved
  };
  Kind kind = Kind::good;
  std::string subject;                         ///< `database`, `topic orders`
  std::string message;                         ///< what is so, and what would be right
};
using FoundList = std::vector<Finding>;

/// Looks at one thing each; none of them throws for what it may find.
/// `with_database`: it is in order, so that the SQL of handlers can be looked at.
FoundList check_plugins(const config::Settings& settings, bool with_database);
FoundList check_database(const config::Settings& settings);
FoundList check_brokers(const config::Settings& settings);

}  // namespace inboxd::cli
