#pragma once
#include <map>
#include <string>

#include "operations/check.hpp"

namespace inboxd::operations {

/// Why brokers do not answer, by the client library's last warning: a refusal of credentials or of a certificate, a
/// protocol that does not fit, or no connection. `properties` are the client's. Pure.
Finding broker_problem(const std::string& brokers, const std::map<std::string, std::string>& properties,
                       const std::string& warning);

}  // namespace inboxd::operations
