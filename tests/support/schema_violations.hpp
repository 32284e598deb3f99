#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace inboxd::support {

/// Compares a value with a schema. Returns a sentence with the place per violation (`/events/0/key: …`); none: it
/// matches. References are resolved in `root`. Supports the JSON Schema keywords of the OpenAPI document and throws on
/// others. Stricter than JSON Schema: unknown fields are violations.
std::vector<std::string> schema_violations(const nlohmann::json& value, const nlohmann::json& schema,
                                           const nlohmann::json& root);

}  // namespace inboxd::support
