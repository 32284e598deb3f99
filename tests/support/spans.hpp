#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/collector.hpp"

namespace inboxd::support {

std::vector<nlohmann::json> spans_of(const Collector& collector);
std::vector<nlohmann::json> named(const std::vector<nlohmann::json>& spans, const std::string& name);
/// The value of a span's attribute, numbers as text; empty: missing.
std::string attribute(const nlohmann::json& span, const std::string& key);

}  // namespace inboxd::support
