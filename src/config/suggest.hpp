#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::config {

/// The candidate that a misspelt word was probably meant to be; nullopt where none is near. Letter case, `-` and `_` do
/// not count, two swapped letters count as one mistake.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace inboxd::config
