#pragma once
#include <optional>
#include <string>

#include "operations/operation.hpp"

namespace inboxd::operations {

/// The key of `--key TEXT` or `--key-hex HEX`; nullopt: neither is given.
struct KeyArgument {
  std::optional<std::string> key;
  std::optional<Answer> refusal;  ///< both are given, or the digits are wrong
};
KeyArgument read_key(const std::string& verb, const Arguments& arguments);

}  // namespace inboxd::operations
