#pragma once
#include <regex.h>

#include <optional>
#include <string>

namespace inboxd::config {

/// A compiled regular expression, POSIX extended as librdkafka uses it for topics. std::regex would follow a long text
/// down the stack.
class Expression final {
 public:
  explicit Expression(const std::string& pattern)
      : error_{regcomp(&compiled_, pattern.c_str(), REG_EXTENDED | REG_NOSUB)} {}
  ~Expression() {
    if (error_ == 0) regfree(&compiled_);
  }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  /// What is wrong with the pattern; it then matches nothing.
  std::optional<std::string> problem() const {
    if (error_ == 0) return std::nullopt;
    std::string reason(200, '\0');
    reason.resize(regerror(error_, &compiled_, reason.data(), reason.size()) - 1);
    return reason;
  }

  bool matches(const std::string& text) const {
    return error_ == 0 && regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  int error_;
};

}  // namespace inboxd::config
