#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::config {

/// The candidate nearest to a misspelt word; nullopt if none is near. Letter case, `-` and `_` do not count; two
/// swapped letters count as a single mistake.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

/// `; did you mean NAME?`, to end a sentence about `word`; empty if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// The remedy for a topic that the brokers do not list.
std::string remedy_for_topic(std::string_view name, std::vector<std::string> listed);

}  // namespace inboxd::config
