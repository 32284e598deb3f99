#include "transaction/sql_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "transaction/sql_space.hpp"

namespace inboxd::transaction {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_statement_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

/// Reads words, skipping white space, comments and empty statements as the server does.
class Words {
 public:
  explicit Words(std::string_view sql) : sql_{sql} {}

  /// The next word in upper case; empty if no word comes next. `at`: its position.
  std::string next(std::size_t* at = nullptr) {
    skip();
    if (at != nullptr) *at = at_;
    std::string word;
    while (at_ < sql_.size() && is_statement_word(sql_[at_])) {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(sql_[at_++])));
    }
    return word;
  }
  /// Skips opening parentheses, as in `(select …) union …`.
  void skip_parentheses() {
    for (skip(); at_ < sql_.size() && sql_[at_] == '('; skip()) ++at_;
  }
  std::size_t at() const { return at_; }

 private:
  void skip() {
    for (at_ = end_of_space(sql_, at_); at_ < sql_.size() && sql_[at_] == ';'; at_ = end_of_space(sql_, at_)) ++at_;
  }

  std::string_view sql_;
  std::size_t at_ = 0;
};

template <std::size_t size>
bool is_one_of(std::string_view word, const std::array<std::string_view, size>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 12> of_the_transaction{"BEGIN",    "START",      "COMMIT",    "END",
                                                              "ROLLBACK", "ABORT",      "SAVEPOINT", "RELEASE",
                                                              "PREPARE",  "DEALLOCATE", "EXECUTE",   "CHECKPOINT"};
constexpr std::array<std::string_view, 6> of_the_session{"RESET", "DISCARD", "LISTEN", "UNLISTEN", "LOAD", "COPY"};
constexpr std::array<std::string_view, 8> with_expressions{"INSERT", "UPDATE", "DELETE", "MERGE",
                                                           "SELECT", "VALUES", "TABLE",  "WITH"};

/// Whether the phrase occurs anywhere, even in a comment.
bool says(std::string_view sql, std::string_view phrase) {
  std::string spaced;  // in upper case, every run of white space a single blank
  for (const char c : sql) {
    if (!is_space(c))
      spaced += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    else if (!spaced.empty() && spaced.back() != ' ')
      spaced += ' ';
  }
  return spaced.find(phrase) != std::string::npos;
}

std::optional<std::string> refused_set(Words& words, std::string_view sql) {
  const std::string scope = words.next();
  if (scope == "CONSTRAINTS") return std::nullopt;
  if (scope != "LOCAL") return "ran SET without LOCAL, which would outlive its transaction; write SET LOCAL";
  const std::string name = words.next();
  const bool is_quoted = name.empty() || sql.substr(words.at(), 1) == "&";  // "role", U&"r\006fle"
  if (is_quoted) return "ran SET LOCAL with a quoted name; write it without quotes";
  if (name == "ROLE" || name == "SESSION" || name == "SESSION_AUTHORIZATION") {
    return "ran SET LOCAL " + name + "; only the daemon sets the role";
  }
  if (name.starts_with("TRANSACTION")) return "ran SET LOCAL " + name + "; only the daemon sets transaction properties";
  return std::nullopt;
}

std::optional<std::string> refused_create(Words& words, std::string_view sql) {
  std::string word = words.next();
  if (word == "LOCAL" || word == "GLOBAL") word = words.next();
  if ((word == "TEMP" || word == "TEMPORARY") && !says(sql, "ON COMMIT DROP")) {
    return "created a temporary object that outlives the transaction; write ON COMMIT DROP";
  }
  return std::nullopt;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::optional<std::string> refused_because(std::string_view sql) {
  Words words{sql};
  words.skip_parentheses();
  const std::string first = words.next();
  if (is_one_of(first, of_the_transaction)) {
    return "ran " + first + "; only the daemon begins and ends transactions";
  }
  if (is_one_of(first, of_the_session))
    return "ran " + first + ", which changes the session; the session belongs to the daemon";
  if (first == "SET") return refused_set(words, sql);
  if (first == "CREATE") return refused_create(words, sql);
  if (first == "DECLARE" && says(sql, "WITH HOLD")) {
    return "declared a cursor WITH HOLD, which outlives its transaction; omit WITH HOLD";
  }
  return std::nullopt;
}

bool leaves_state(std::string_view sql) {
  constexpr std::array<std::string_view, 4> by_first_word{"SET", "DECLARE", "CREATE", "DO"};
  Words words{sql};
  words.skip_parentheses();
  return is_one_of(words.next(), by_first_word) || says(sql, "SET_CONFIG");
}

std::uint32_t SentText::position_of(std::uint32_t sent) const {
  if (sent == 0 || sent <= inserted_at) return sent;
  return sent <= inserted_at + inserted ? 0 : static_cast<std::uint32_t>(sent - inserted);
}

std::optional<SentText> with_expression(std::string_view sql, std::string_view expression) {
  Words words{sql};
  words.skip_parentheses();
  std::size_t at = 0;
  const bool in_parentheses = words.at() > 0 && sql[words.at() - 1] == '(';
  const std::string first = words.next(&at);
  if (!is_one_of(first, with_expressions)) return std::nullopt;
  std::string inserted;
  if (first == "WITH" && !in_parentheses) {
    at = words.at();
    Words behind = words;
    if (behind.next() == "RECURSIVE") at = behind.at();
    inserted = " " + std::string{expression} + ",";
  } else {
    at = in_parentheses ? 0 : at;
    inserted = "with " + std::string{expression} + " ";
  }
  SentText out;
  out.text = std::string{sql.substr(0, at)} + inserted + std::string{sql.substr(at)};
  out.inserted_at = characters(sql.substr(0, at));
  out.inserted = characters(inserted);
  return out;
}

}  // namespace inboxd::transaction
