#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "config/settings.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

struct Finding {
  enum class Kind {
    good,
    warning,  ///< works, but the operator should know
    problem,
    refused,      ///< a server does not accept the login
    unreachable,  ///< a problem that hides others
  };
  Kind kind = Kind::good;
  std::string subject;  ///< `database`, `topic orders`
  std::string message;  ///< the fact, then the remedy
};
using FoundList = std::vector<Finding>;

// Both block, and report failures as findings instead of throwing them. The connections are as in inspect_server().
// `patience` limits each of two questions to the brokers, which cannot be interrupted.
FoundList check_database(const config::Settings& settings, inbox::Connection& first, inbox::Connection* second);
// check_brokers.cpp
FoundList check_brokers(const config::Settings& settings, std::chrono::milliseconds patience);

/// `ok`, `warning`, `problem`, `refused` or `unreachable`.
const char* name_of(Finding::Kind kind);
/// {"ok", "findings": [{"result", "subject", "message"}]}.
Document document_of(const FoundList& findings);
base::ExitCode verdict_on(const FoundList& findings);

}  // namespace inboxd::operations
