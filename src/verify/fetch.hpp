#pragma once
#include <string>

#include "inbox/connection.hpp"
#include "verify/report.hpp"

namespace inboxd::verify {

/// Why the partition must not be read again from its first missing record, as a sentence; empty: it may be. Reading
/// again stores each record whose id the ledger does not have, and its handlers run again. Throws database errors.
std::string problem_with_fetch(inbox::Connection& connection, const PartitionResult& partition);

}  // namespace inboxd::verify
