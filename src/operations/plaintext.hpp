#pragma once
#include <map>
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "operations/check.hpp"

namespace inboxd::operations {

/// The first of `brokers` on another machine, with which a client with these properties talks without TLS; empty: none.
/// Pure.
std::string plaintext_broker(const std::string& brokers, const std::map<std::string, std::string>& properties);

/// The warning that `what` travels to an address on another machine without TLS.
Finding in_plaintext(std::string subject, const std::string& address, const std::string& remedy,
                     const std::string& what = "events and passwords");

/// Warnings for the brokers, also those of `kafka` handlers; the source of tokens; `http` handlers with headers, a user
/// or a query; the trace collector; and the admin port. Pure.
FoundList check_plaintext(const config::Settings& settings);

}  // namespace inboxd::operations
