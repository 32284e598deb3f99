#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "base/log.hpp"
#include "config/settings.hpp"

namespace inboxd::admin {

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

/// Each looks at one thing and blocks meanwhile; none throws for what it may find. The connections are as
/// inbox::inspect_server wants them: null, and no pooler is looked for. `patience`: for each of two questions to the
/// brokers, which nothing cuts short.
FoundList check_database(const config::Settings& settings, inbox::Connection& first, inbox::Connection* second);
FoundList check_brokers(const config::Settings& settings, std::chrono::milliseconds patience);

/// `ok`, `warning`, `problem` or `unreachable`.
const char* name_of(Finding::Kind kind);
/// {"ok", "findings": [{"result", "subject", "message"}]}.
Document document_of(const FoundList& findings);
/// With which status `check` ends.
base::ExitCode verdict_on(const FoundList& findings);

}  // namespace inboxd::admin
