#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "operations/operation.hpp"

/// Values of documents as text for people.
namespace inboxd::cli {

using operations::Document;

/// With separators: `1,234,567`.
std::string number_text(std::int64_t number);
/// `12 B`, `3.4 KiB`.
std::string bytes_text(std::int64_t bytes);
/// `3 ms`, `3 s`, `12 min`, `5 h 20 min`, `4 d 2 h`.
std::string age_text(double seconds);
/// `2024-01-31 12:00:00Z` from RFC 3339.
std::string time_text(std::string_view rfc3339);

/// The member of a document as text; empty if it is missing or null.
std::string text_at(const Document& document, std::string_view key);
std::string number_at(const Document& document, std::string_view key);
/// The count, with `≥` if counting stopped at a limit.
std::string count_at(const Document& document, std::string_view key);
std::string time_at(const Document& document, std::string_view key);
std::string size_at(const Document& document, std::string_view key);
std::string age_at(const Document& document, std::string_view key);
/// `TOPIC/PARTITION/OFFSET`.
std::string place_of(const Document& document);
/// Counts by name: `orders 3, payments 1`.
std::string counts_of(const Document& counts);
/// Bytes of a document: the text, or `base64:…`.
std::string bytes_at(const Document& document, std::string_view key);

}  // namespace inboxd::cli
