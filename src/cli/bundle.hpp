#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "config/settings_table.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

constexpr std::size_t max_bundle = 1 << 20;
/// The largest of the eight parts of a bundle, as JSON.
constexpr std::size_t max_part = 120 << 10;

/// Shortens the longest lists and texts of a document until it has at most `limit` bytes as JSON. Its member `left_out`
/// counts the members that its lists lost. Pure.
void fit(operations::Document& part, std::size_t limit);

/// Hides the texts, and their base64, in all texts of a document. Before `fit`, which could cut a text in two. Pure.
void hide(operations::Document& part, const config::Texts& texts);

/// Writes a new file that only its owner may read. Returns the problem.
std::optional<std::string> write_new_file(const std::string& path, const std::string& bytes);

/// Kernel, processors, memory and limits of this process.
operations::Document machine();

}  // namespace inboxd::cli
