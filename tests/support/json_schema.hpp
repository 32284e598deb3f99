#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace inboxd::support {

/// Where a value is not what a schema says, a sentence each with its place (`/events/0/key: …`); none: it fits. The
/// schema's references are looked up in `root`. Of JSON Schema it knows what the OpenAPI document uses, and is
/// stricter: a field that the schema does not name is told, too. Throws on a keyword that it does not know.
std::vector<std::string> misfits(const nlohmann::json& value, const nlohmann::json& schema, const nlohmann::json& root);

}  // namespace inboxd::support
