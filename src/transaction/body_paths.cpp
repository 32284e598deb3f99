#include "transaction/body_paths.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "transaction/sql_space.hpp"

namespace inboxd::transaction {
namespace {

constexpr std::string_view operator_characters = "+-*/<>=~!@#%^&|`?";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}

struct Token {
  enum class Kind { word, text, number, symbol };
  Kind kind;
  std::string_view written;
  std::size_t at;
  std::string name;  ///< of a word: in lower case, or without its quotes
};

/// Reads SQL as the server's scanner does, as far as needed to tell names, texts and operators apart.
class Scanner {
 public:
  explicit Scanner(std::string_view sql) : sql_{sql} {}

  std::vector<Token> all() {
    std::vector<Token> out;
    for (skip_space(); at_ < sql_.size(); skip_space()) {
      const std::size_t begin = at_;
      const Token::Kind kind = step();
      Token token{kind, sql_.substr(begin, at_ - begin), begin, {}};
      if (kind == Token::Kind::word) token.name = name_of(token.written);
      out.push_back(std::move(token));
    }
    return out;
  }

 private:
  bool sees(std::string_view text) const { return sql_.substr(at_, text.size()) == text; }
  /// Past the next `text`, or to the end.
  void pass(std::string_view text) {
    const auto found = sql_.find(text, at_);
    at_ = found == std::string_view::npos ? sql_.size() : found + text.size();
  }

  void skip_space() { at_ = end_of_space(sql_, at_); }

  Token::Kind step() {
    const char c = sql_[at_];
    if (c == '\'') return quoted(false);
    if ((c == 'e' || c == 'E') && sql_.substr(at_ + 1, 1) == "'") {
      ++at_;
      return quoted(true);
    }
    if (c == '"') {
      quoted(false);
      return Token::Kind::word;
    }
    if (c == '$') return dollars();
    if (is_word(c)) {
      while (at_ < sql_.size() && is_word(sql_[at_])) ++at_;
      return std::isdigit(static_cast<unsigned char>(c)) != 0 ? Token::Kind::number : Token::Kind::word;
    }
    const auto is_operator = [](char each) { return operator_characters.find(each) != std::string_view::npos; };
    ++at_;
    if (!is_operator(c)) return Token::Kind::symbol;
    while (at_ < sql_.size() && is_operator(sql_[at_]) && !sees("--") && !sees("/*")) ++at_;
    return Token::Kind::symbol;
  }
  Token::Kind quoted(bool has_escapes) {
    const char quote = sql_[at_];
    for (++at_; at_ < sql_.size(); ++at_) {
      const bool is_doubled = sql_[at_] == quote && sql_.substr(at_ + 1, 1) == std::string_view{&quote, 1};
      if (is_doubled || (has_escapes && sql_[at_] == '\\')) {
        ++at_;
      } else if (sql_[at_] == quote) {
        break;
      }
    }
    at_ = std::min(at_ + 1, sql_.size());
    return Token::Kind::text;
  }
  Token::Kind dollars() {
    const auto end = sql_.find('$', at_ + 1);
    const std::string_view tag = end == std::string_view::npos ? "" : sql_.substr(at_, end + 1 - at_);
    if (tag.empty() || !std::all_of(tag.begin(), tag.end(), is_word)) {
      ++at_;
      return Token::Kind::symbol;
    }
    at_ = end + 1;
    pass(tag);
    return Token::Kind::text;
  }

  static std::string name_of(std::string_view written) {
    if (written.starts_with('"')) return std::string{written.substr(1, written.size() - 2)};
    std::string out{written};
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  }

  std::string_view sql_;
  std::size_t at_ = 0;
};

class Paths {
 public:
  explicit Paths(std::string_view sql) : sql_{sql}, tokens_{Scanner{sql}.all()} {}

  std::vector<std::string> found() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!is_word_at(i, "body")) continue;
      if (is_symbol_at(i - 1, ".") && !is_events(i - 2)) return {};
      const std::size_t end = end_of_path(i);
      if (end == i + 1) return {};
      const Token& last = tokens_[end - 1];
      std::string path{sql_.substr(tokens_[i].at, last.at + last.written.size() - tokens_[i].at)};
      if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(std::move(path));
    }
    return out;
  }

 private:
  bool is_word_at(std::size_t i, std::string_view name) const {
    return i < tokens_.size() && tokens_[i].kind == Token::Kind::word && tokens_[i].name == name;
  }
  bool is_symbol_at(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].kind == Token::Kind::symbol && tokens_[i].written == text;
  }
  /// `events`, or an alias: `from events e`, `from events as e`.
  bool is_events(std::size_t i) const {
    if (is_word_at(i, "events")) return true;
    for (std::size_t relation = 0; relation < tokens_.size(); ++relation) {
      if (!is_word_at(relation, "events")) continue;
      const std::size_t alias = relation + (is_word_at(relation + 1, "as") ? 2 : 1);
      if (i < tokens_.size() && is_word_at(alias, tokens_[i].name)) return true;
    }
    return false;
  }
  /// Past the operators and their texts or numbers that follow `body`.
  std::size_t end_of_path(std::size_t body) const {
    std::size_t end = body + 1;
    while (end + 1 < tokens_.size()) {
      const bool is_path = is_symbol_at(end, "->") || is_symbol_at(end, "->>") || is_symbol_at(end, "#>") ||
                           is_symbol_at(end, "#>>");
      const Token::Kind kind = tokens_[end + 1].kind;
      if (!is_path || (kind != Token::Kind::text && kind != Token::Kind::number)) break;
      end += 2;
    }
    return end;
  }

  std::string_view sql_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<std::string> body_paths(std::string_view sql) { return Paths{sql}.found(); }

std::string body_question(const std::vector<std::string>& paths) {
  return "select pg_catalog.count(*), pg_catalog.count(*) filter (where pg_catalog.num_nonnulls(" +
         base::joined(paths) + ") operator(pg_catalog.>) 0) from events where payload is not null";
}

}  // namespace inboxd::transaction
