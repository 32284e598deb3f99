#pragma once
#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "inbox/database_error.hpp"

namespace inboxd::inbox {

/// The result of a database access, or its failure. Loops see database errors as values.
template <class T>
using Answer = std::variant<T, DatabaseFailure>;

/// Runs `question`. Turns every exception into a failure (see describe_any), so that the loop continues.
template <class Question>
auto ask(Question&& question) -> Answer<decltype(question())> {
  try {
    return std::forward<Question>(question)();
  } catch (...) {
    return describe_any(std::current_exception());
  }
}

/// As `ask`, for work without a result; nullopt: it succeeded.
template <class Work>
std::optional<DatabaseFailure> failure_of(Work&& work) {
  try {
    std::forward<Work>(work)();
    return std::nullopt;
  } catch (...) {
    return describe_any(std::current_exception());
  }
}

/// Like failure_of, for starts and commands: only database errors become a failure. Other exceptions are bugs and pass.
template <class Work>
std::optional<DatabaseFailure> database_failure_of(Work&& work) {
  try {
    std::forward<Work>(work)();
    return std::nullopt;
  } catch (...) {
    return describe(std::current_exception());
  }
}

}  // namespace inboxd::inbox
