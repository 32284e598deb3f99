#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "operations/check.hpp"

namespace inboxd::operations {

/// Where a handler with plugin http sends its events.
struct Service {
  std::string host;
  std::string port;
  bool operator==(const Service&) const = default;
};
/// Of a URL, whose path may have placeholders; nullopt: the handler refuses its scheme or authority.
std::optional<Service> service_of(const std::string& url);

/// Connects to the services of handlers with plugin http and sends nothing. A service that does not answer is a
/// warning, because events wait for it uncharged. `patience` is for each.
FoundList check_services(const config::Settings& settings, std::chrono::milliseconds patience);

}  // namespace inboxd::operations
