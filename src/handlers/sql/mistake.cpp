#include "mistake.hpp"

#include <algorithm>

namespace sql_handler {
namespace {

constexpr std::size_t shown_characters = 40;
constexpr std::string_view operator_characters = "-<>#@?&|";

/// The text at an error's position, shortened.
std::string shown(std::string_view rest) {
  std::size_t end = std::min(rest.size(), shown_characters);
  while (end > 0 && end < rest.size() && continues_character(rest[end])) --end;
  return "'" + std::string{rest.substr(0, end)} + (end < rest.size() ? "..." : "") + "'";
}

/// `->>'orderId'` of `->>'orderId', 1 from events`.
std::string_view operation(std::string_view rest) {
  std::size_t end = std::min(rest.find_first_not_of(operator_characters), rest.size());
  end = std::min(rest.find_first_not_of(' ', end), rest.size());
  if (end < rest.size() && rest[end] == '\'') {
    end = std::min(rest.find('\'', end + 1), rest.size() - 1) + 1;
  } else {
    while (end < rest.size() && is_word(rest[end])) ++end;
  }
  return rest.substr(0, end);
}

bool ends_with_payload(std::string_view before) {
  while (!before.empty() && (before.back() == ' ' || before.back() == '\n' || before.back() == '\t')) {
    before.remove_suffix(1);
  }
  if (before.ends_with("\"payload\"")) return true;
  constexpr std::string_view name = "payload";
  if (!before.ends_with(name)) return false;
  before.remove_suffix(name.size());
  return before.empty() || !is_word(before.back());
}

bool is_cast_of_payload(std::string_view rest) {
  return (rest.starts_with("cast(") || rest.starts_with("CAST(")) && ends_with_payload(rest.substr(0, rest.find(' ')));
}

/// Payloads are bytes: a JSON operator (42883) or a cast to jsonb (42846) after column `payload` means `body`.
std::optional<std::string> payload_remedy(const Failure& failure, std::string_view text, const Place& place) {
  const bool follows = ends_with_payload(text.substr(0, place.at));
  const bool is_cast = follows ? place.rest.starts_with("::") : is_cast_of_payload(place.rest);
  if (failure.sqlstate == "42846" && is_cast) return "payload is bytea; use body, which is its jsonb";
  if (!follows) return std::nullopt;
  const bool is_operator = place.rest.find_first_of(operator_characters) == 0;
  if (failure.sqlstate != "42883" || !is_operator) return std::nullopt;
  return "payload is bytea; use body" + std::string{operation(place.rest)};
}

/// Steps over quotes and comments, which may contain semicolons.
class Scanner final {
 public:
  explicit Scanner(std::string_view text) : text_{text} {}

  bool at_end() const { return at_ >= text_.size(); }
  std::size_t at() const { return at_; }
  char now() const { return text_[at_]; }

  /// White space and comments.
  void skip_space() {
    while (!at_end()) {
      if (std::string_view{" \t\r\n\f\v"}.find(now()) != std::string_view::npos) {
        ++at_;
      } else if (sees("--")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (sees("/*")) {
        skip_comment();
      } else {
        return;
      }
    }
  }

  /// A quoted text, or a character.
  void step() {
    if (now() == '\'' || now() == '"') {
      const bool has_escapes = now() == '\'' && at_ > 0 && (text_[at_ - 1] == 'E' || text_[at_ - 1] == 'e');
      skip_quoted(has_escapes);
    } else if (now() == '$' && (at_ == 0 || !is_word(text_[at_ - 1]))) {
      skip_dollars();
    } else {
      ++at_;
    }
  }

 private:
  bool sees(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void skip_comment() {  // they nest
    int depth = 0;
    do {
      const int change = sees("/*") ? 1 : sees("*/") ? -1 : 0;
      depth += change;
      at_ += change == 0 ? 1 : 2;
    } while (depth > 0 && !at_end());
  }
  void skip_quoted(bool has_escapes) {
    const char quote = now();
    for (++at_; !at_end() && now() != quote; ++at_) {
      if (has_escapes && now() == '\\') ++at_;
    }
    ++at_;
  }
  void skip_dollars() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_word(text_[end]) && text_[end] != '$') ++end;
    if (end >= text_.size() || text_[end] != '$') {
      ++at_;
      return;
    }
    const std::string_view tag = text_.substr(at_, end + 1 - at_);
    const std::size_t close = text_.find(tag, end + 1);
    at_ = close == std::string_view::npos ? text_.size() : close + tag.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// PostgreSQL refuses several statements with 42601 and no position.
std::optional<std::string> remedy_for_two(const Failure& failure, const Statement& statement) {
  if (failure.sqlstate != "42601" || failure.position != 0) return std::nullopt;
  const auto second = second_statement(statement.text);
  if (!second) return std::nullopt;
  const Place place = place_at(statement.text, *second);
  return "there is a second statement in line " + std::to_string(place.line) + ", column " +
         std::to_string(place.column) +
         "; write one statement (with a as (insert ...) insert ...), or a function and 'function: schema.name'";
}

std::string sentence_of_function(const Failure& failure, const Statement& statement) {
  return failure.message + " (SQLSTATE " + failure.sqlstate +
         "); it must be a function of one inbox.message that the role may call: create function " + statement.function +
         "(event inbox.message) returns void ...";
}

}  // namespace

std::string sentence_of(const Failure& failure, const Statement& statement) {
  std::string out = "setting '" + statement.setting + "'";
  if (!statement.function.empty()) return out + ": " + sentence_of_function(failure, statement);
  const auto place = place_of(statement.text, failure.position);
  if (place) {
    out += ", line " + std::to_string(place->line) + ", column " + std::to_string(place->column);
    if (!place->rest.empty()) out += " at " + shown(place->rest);
  }
  out += ": " + failure.message + " (SQLSTATE " + failure.sqlstate + ")";
  auto remedy = place ? payload_remedy(failure, statement.text, *place) : remedy_for_two(failure, statement);
  if (!remedy && !failure.hint.empty()) remedy = failure.hint;
  return remedy ? out + "; " + *remedy : out;
}

std::optional<std::size_t> second_statement(std::string_view text) {
  Scanner scanner{text};
  bool has_ended = false, has_begun = false;
  for (scanner.skip_space(); !scanner.at_end(); scanner.skip_space()) {
    if (scanner.now() != ';') {
      if (has_ended) return scanner.at();
      has_begun = true;
    } else {
      has_ended = has_begun;
    }
    scanner.step();
  }
  return std::nullopt;
}

}  // namespace sql_handler
