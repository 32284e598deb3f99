#pragma once
#include <exception>
#include <utility>
#include <variant>

#include "inbox/database_error.hpp"

namespace inboxd::settler {

/// What the database said: what was asked for, or why not. The way in which service loops see database errors.
template <class T>
using Answer = std::variant<T, inbox::DatabaseFailure>;

/// What the exception in flight means. What is no database error is a bug: told as `stop`, so that the loop lives on
/// and says so.
inline inbox::DatabaseFailure failure_in_flight() {
  try {
    return inbox::describe(std::current_exception());
  } catch (const std::exception& bug) {
    return {inbox::Fault::stop, "", bug.what()};
  }
}

template <class Question>
auto ask(Question question) -> Answer<decltype(question())> {
  try {
    return question();
  } catch (...) {
    return failure_in_flight();
  }
}

}  // namespace inboxd::settler
