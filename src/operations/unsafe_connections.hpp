#pragma once
#include "config/settings.hpp"
#include "operations/check.hpp"

namespace inboxd::operations {

/// Warnings of connections to other machines in plaintext, or to servers that TLS does not verify: the database; the
/// brokers, also those of `kafka` handlers; the source of tokens; `http` handlers with headers, a user or a query; the
/// trace collector; and the admin port. Asks no server.
FoundList check_connections(const config::Settings& settings);

}  // namespace inboxd::operations
