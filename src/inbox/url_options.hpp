#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace inboxd::inbox {

/// Calls `visit` for each keyword of a database URL, as libpq parses it. False if libpq cannot.
bool read_options(const std::string& url, const std::function<void(std::string_view, std::string_view)>& visit);

/// The options of a connection: of the URL, else of the PG* variables and their service, else libpq's defaults. A
/// service that the URL names is not read.
std::map<std::string, std::string> effective_options(const std::string& url);

}  // namespace inboxd::inbox
