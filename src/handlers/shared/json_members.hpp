#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace handlers {

struct JsonMember {
  std::string name;      ///< unescaped
  std::string_view raw;  ///< the value's bytes: a parser would round large numbers and drop repeated keys
};

/// The top members of a JSON object, in their order; none if it is another value. `json` must be JSON.
std::vector<JsonMember> json_members(std::string_view json);

}  // namespace handlers
