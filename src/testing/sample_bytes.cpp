#include "testing/sample_bytes.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "config/units.hpp"

namespace inboxd::testing {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') out.push_back(c);
  }
  return out;
}

std::string json_of_scalar(const config::Node& node) {
  if (node.quoted) return base::json_quote(node.text);
  const bool is_number = !node.text.empty() && (node.text[0] == '-' || (node.text[0] >= '0' && node.text[0] <= '9')) &&
                         nlohmann::json::accept(node.text);
  return is_number || node.text == "true" || node.text == "false" ? node.text : base::json_quote(node.text);
}

}  // namespace

std::optional<std::string> bytes_of_base64(std::string_view text) { return base::from_base64(without_blanks(text)); }

std::optional<std::string> bytes_of_hex(std::string_view text) {
  const std::string digits = base::lower(without_blanks(text));
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto high = hex_digits.find(digits[i]), low = hex_digits.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out.push_back(static_cast<char>(high << 4 | low));
  }
  return out;
}

std::string json_of(const config::Node& node) {
  using Kind = config::Node::Kind;
  if (node.kind == Kind::scalar) return json_of_scalar(node);
  std::string out;
  if (node.kind == Kind::list) {
    for (const auto& item : node.items) out += (out.empty() ? "" : ",") + json_of(item);
    return "[" + out + "]";
  }
  if (node.kind != Kind::map) return "null";
  for (const auto& entry : node.entries) {
    out += (out.empty() ? "" : ",") + base::json_quote(entry.key) + ":" + json_of(entry.value);
  }
  return "{" + out + "}";
}

base::Result<std::string> content_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::string out(max_sample_bytes + 1, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (in.bad() || (in.gcount() == 0 && !in.eof())) return base::Problem{"the file " + path + " cannot be read"};
  out.resize(static_cast<std::size_t>(in.gcount()));
  if (out.size() <= max_sample_bytes) return out;
  return base::Problem{"the file " + path + " has more than " + config::size_text(max_sample_bytes)};
}

}  // namespace inboxd::testing
