#include "event/json_text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.hpp"

namespace inboxd::event {
namespace {

constexpr std::size_t schema_id_bytes = 5;  // 0, and the id in four bytes
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool has_schema_id(std::string_view payload) { return payload.size() > schema_id_bytes && payload[0] == '\0'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// The kinds of the open containers, a bit each.
class Containers final {
 public:
  bool empty() const { return depth_ == 0; }
  void push(bool is_object) {
    if (depth_ / 64 >= few_.size() && depth_ / 64 - few_.size() == many_.size()) many_.push_back(0);
    const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
    std::uint64_t& word = word_at(depth_++);
    word = is_object ? word | bit : word & ~bit;
  }
  bool is_object() { return (word_at(depth_ - 1) >> ((depth_ - 1) % 64) & 1) != 0; }
  void pop() { --depth_; }

 private:
  std::uint64_t& word_at(std::size_t depth) {
    const std::size_t at = depth / 64;
    return at < few_.size() ? few_[at] : many_[at - few_.size()];
  }
  std::array<std::uint64_t, 64> few_;  // the bits above depth_ mean nothing
  std::vector<std::uint64_t> many_;
  std::size_t depth_ = 0;
};

class Grammar final {
 public:
  explicit Grammar(std::string_view text) : text_{text} {}

  /// A single value, and nothing else.
  bool is_value() {
    for (;;) {
      skip_blanks();
      if (is_at('{') || is_at('[')) {
        const bool is_object = text_[at_++] == '{';
        skip_blanks();
        if (!take(is_object ? '}' : ']')) {
          open_.push(is_object);
          if (is_object && !key()) return false;
          continue;
        }
      } else if (!scalar()) {
        return false;
      }
      if (!ends_of_containers()) return false;
      if (open_.empty()) return at_ == text_.size();
    }
  }

 private:
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) { return is_at(c) && ++at_ > 0; }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  /// What may follow a value: closing brackets, then a comma and the next key, or the end.
  bool ends_of_containers() {
    for (;;) {
      skip_blanks();
      if (open_.empty()) return true;
      const bool is_object = open_.is_object();
      if (take(',')) return !is_object || (skip_blanks(), key());
      if (!take(is_object ? '}' : ']')) return false;
      open_.pop();
    }
  }

  bool key() {
    if (!string()) return false;
    skip_blanks();
    return take(':');
  }

  bool scalar() {
    if (is_at('"')) return string();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_).starts_with(word)) return (at_ += word.size()) > 0;
    }
    const std::size_t size = end_of_number(text_.substr(at_));
    at_ += size;
    return size > 0;
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < ' ') return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }

  bool escape() {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (c != 'u') return std::string_view{"\"\\/bfnrt"}.find(c) != std::string_view::npos;
    for (int digit = 0; digit < 4; ++digit) {
      if (at_ == text_.size() || !is_hex(text_[at_++])) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Containers open_;
};

}  // namespace

std::string_view sentence_of(JsonProblem problem) {
  switch (problem) {
    case JsonProblem::none: return "it is JSON";
    case JsonProblem::empty: return "it is empty";
    case JsonProblem::schema_id:
      return "it begins with the id of a schema registry's schema; see topics[].value.format";
    case JsonProblem::not_utf8: return "it is not UTF-8 text";
    case JsonProblem::grammar: return "its syntax is wrong";
  }
  return "its syntax is wrong";
}

std::size_t end_of_number(std::string_view text) {
  std::size_t at = 0;
  const auto is_at = [&](char c) { return at < text.size() && text[at] == c; };
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > from;
  };
  if (is_at('-')) ++at;
  if (is_at('0')) ++at;
  else if (!digits()) return 0;
  if (is_at('.') && (++at, !digits())) return 0;
  if (is_at('e') || is_at('E')) {
    ++at;
    if (is_at('+') || is_at('-')) ++at;
    if (!digits()) return 0;
  }
  return at;
}

std::string_view without_prefix(std::string_view payload) {
  if (has_schema_id(payload)) payload.remove_prefix(schema_id_bytes);
  if (payload.starts_with(byte_order_mark)) payload.remove_prefix(byte_order_mark.size());
  return payload;
}

JsonText json_in(std::string_view payload) {
  JsonText out{without_prefix(payload)};
  if (Grammar{out.text}.is_value() && base::is_utf8(out.text)) return out;
  if (payload.empty()) out.problem = JsonProblem::empty;
  else if (has_schema_id(payload)) out.problem = JsonProblem::schema_id;
  else out.problem = base::is_utf8(out.text) ? JsonProblem::grammar : JsonProblem::not_utf8;
  return out;
}

}  // namespace inboxd::event
