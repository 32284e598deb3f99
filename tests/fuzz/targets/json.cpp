// The JSON walker agrees with another parser: which bytes are JSON, and which texts are at pointers.
#include "envelope/json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "fuzz/target.hpp"

using namespace inboxd;
using nlohmann::json;

namespace {

/// Accepts numbers of any size: the walker does not convert them.
struct Checker : nlohmann::json_sax<json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    is_number_too_large = error.id == 406;
    return false;
  }
  bool is_number_too_large = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  // The walker alone takes off a byte order mark; for the other parser a zero byte ends the text.
  if (text.find('\0') != text.npos || text.starts_with('\xEF')) return 0;
  // The walker takes half a surrogate pair in a text at no pointer.
  if (text.find("\\ud") != text.npos || text.find("\\uD") != text.npos) return 0;
  constexpr std::array<std::string_view, 4> pointers{"/id", "/a/b", "/list/1", "/a~1b"};
  std::array<envelope::JsonValue, 4> found;
  base::Arena arena{256};
  const auto problem = envelope::find_in_json(text, pointers, found, arena, config::Unwrap{});
  Checker checker;
  const bool is_json = json::sax_parse(text, &checker);
  if (checker.is_number_too_large) return 0;
  const json document = is_json ? json::parse(text) : json{};
  if (is_json && !document.is_structured()) return 0;
  fuzz::require(is_json == problem.empty(), "both parsers read the same objects and arrays");
  if (!is_json) return 0;
  std::vector<std::string_view> elements;
  const auto split = envelope::split_objects(text, 8, elements);
  const bool has_objects = document.is_array() && std::all_of(document.begin(), document.end(), [](const json& each) {
                             return each.is_object();
                           });
  if (split == envelope::Split::too_many) fuzz::require(document.is_array() && document.size() > 8, "few are accepted");
  else fuzz::require((split == envelope::Split::done) == has_objects, "both parsers see the same lists of objects");
  if (split == envelope::Split::done) fuzz::require(elements.size() == document.size(), "each element is found");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    fuzz::require(json::parse(elements[i]) == document.at(i), "an element has its bytes");
  }
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    const json::json_pointer pointer{std::string{pointers[i]}};
    const bool has_text = document.contains(pointer) && document.at(pointer).is_string();
    if (found[i].kind == envelope::JsonValue::Kind::broken) continue;
    fuzz::require(found[i].is_text() == has_text, "both parsers find a text");
    if (has_text) fuzz::require(document.at(pointer).get<std::string>() == found[i].text, "both read the same text");
  }
  return 0;
}
