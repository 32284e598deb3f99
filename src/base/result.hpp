#pragma once
#include <string>
#include <utility>
#include <variant>

namespace inboxd::base {

/// An expected failure: the mistake and its remedy in a sentence.
struct Problem {
  std::string message;
  std::string code = {};  ///< for programs; often empty
  bool operator==(const Problem&) const = default;
};

/// A value or a problem. Check `ok()` before `value()`: the wrong accessor throws std::bad_variant_access, a bug of the
/// caller.
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
