#pragma once
#include <exception>
#include <utility>
#include <variant>

#include "inbox/database_error.hpp"

namespace inboxd::settler {

/// What the database said: what was asked for, or why not. The way in which service loops see database errors.
template <class T>
using Answer = std::variant<T, inbox::DatabaseFailure>;

template <class Question>
auto ask(Question question) -> Answer<decltype(question())> {
  try {
    return question();
  } catch (...) {
    return inbox::describe_any(std::current_exception());
  }
}

}  // namespace inboxd::settler
