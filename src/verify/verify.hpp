#pragma once
#include <chrono>

#include "verify/database_rules.hpp"

namespace inboxd::verify {

/// The deadline of each statement: a page of a large table takes longer than the statements of the daemon.
inline constexpr std::chrono::minutes statement_deadline{10};

/// Verifies the database, then the log. Changes nothing but the request's state file. Throws database errors; `out` has
/// the results until then.
void run(const Surroundings& around, const Request& request, Report& out);

}  // namespace inboxd::verify
