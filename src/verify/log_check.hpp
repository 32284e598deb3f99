#pragma once
#include "verify/database_rules.hpp"
#include "verify/state_file.hpp"

namespace inboxd::verify {

/// Reads each partition's log back, as far as Kafka has it and the database has stored it, and accounts for each
/// record. Brokers that are not reached are the report's failure. Throws database errors.
void verify_logs(const Surroundings& around, const Request& request, StateFile state, Report& out);

}  // namespace inboxd::verify
