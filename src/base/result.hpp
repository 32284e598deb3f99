#pragma once
#include <string>
#include <utility>
#include <variant>

namespace inboxd::base {

/// Why something expected did not work out, in a sentence for the person who can mend it.
struct Problem {
  std::string message;
  std::string code = {};  ///< for programs, where whoever says it has names for what goes wrong; often empty
  bool operator==(const Problem&) const = default;
};

/// A value or the problem that kept it from being there. Ask `ok()` before `value()`; the wrong one throws
/// std::bad_variant_access, which is a bug in the caller.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_{std::in_place_index<0>, std::move(value)} {}
  Result(Problem problem) : held_{std::in_place_index<1>, std::move(problem)} {}

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(held_); }
  const T& value() const& { return std::get<0>(held_); }
  T&& value() && { return std::get<0>(std::move(held_)); }
  const Problem& problem() const { return std::get<1>(held_); }

 private:
  std::variant<T, Problem> held_;
};

}  // namespace inboxd::base
