#include "cli/value_text.hpp"

#include <array>
#include <cstdio>

#include "cli/terminal_text.hpp"

namespace inboxd::cli {
namespace {

const Document* find(const Document& document, std::string_view key) {
  if (!document.is_object()) return nullptr;
  const auto found = document.find(std::string{key});
  return found == document.end() || found->is_null() ? nullptr : &*found;
}

std::string two_units(std::int64_t big, const char* big_name, std::int64_t small, const char* small_name) {
  std::string out = std::to_string(big) + " " + big_name;
  if (small > 0) out += " " + std::to_string(small) + " " + small_name;
  return out;
}

}  // namespace

std::string number_text(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string bytes_text(std::int64_t bytes) {
  static constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", size, units[unit]);
  return text;
}

std::string age_text(double seconds) {
  if (seconds < 1) return std::to_string(static_cast<int>(seconds * 1000)) + " ms";
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return two_units(whole / 60, "min", 0, "");
  if (whole < 86'400) return two_units(whole / 3600, "h", whole % 3600 / 60, "min");
  return two_units(whole / 86'400, "d", whole % 86'400 / 3600, "h");
}

std::string time_text(std::string_view rfc3339) {
  if (rfc3339.size() < 20 || rfc3339[10] != 'T') return std::string{rfc3339};
  return std::string{rfc3339.substr(0, 10)}.append(" ").append(rfc3339.substr(11, 8)).append("Z");
}

std::string text_at(const Document& document, std::string_view key) {
  const Document* const value = find(document, key);
  if (value == nullptr) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::string number_at(const Document& document, std::string_view key) {
  const Document* const value = find(document, key);
  return value == nullptr ? "" : number_text(value->get<std::int64_t>());
}

std::string count_at(const Document& document, std::string_view key) {
  const std::string number = number_at(document, key);
  return find(document, std::string{"at_least_"}.append(key)) == nullptr ? number : "≥" + number;
}

std::string time_at(const Document& document, std::string_view key) { return time_text(text_at(document, key)); }

std::string size_at(const Document& document, std::string_view key) {
  const Document* const value = find(document, key);
  return value == nullptr ? "" : bytes_text(value->get<std::int64_t>());
}

std::string age_at(const Document& document, std::string_view key) {
  const Document* const value = find(document, key);
  return value == nullptr ? "" : age_text(value->get<double>());
}

std::string place_of(const Document& document) {
  return text_at(document, "topic") + "/" + text_at(document, "partition") + "/" + text_at(document, "offset");
}

std::string counts_of(const Document& counts) {
  std::string out;
  for (const auto& [name, count] : counts.items()) {
    out += (out.empty() ? "" : ", ") + one_line(name) + " " + number_text(count.get<std::int64_t>());
  }
  return out;
}

std::string bytes_at(const Document& document, std::string_view key) {
  const Document* const value = find(document, key);
  if (value != nullptr && value->is_object()) return "base64:" + text_at(*value, "base64");
  return text_at(document, key);
}

}  // namespace inboxd::cli
