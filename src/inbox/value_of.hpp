#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "inbox/database_error.hpp"

namespace inboxd::inbox {

/// The value that a word of the database stands for. Throws for any other word: none becomes a value in silence.
template <class Value>
Value value_of(std::string_view word, std::initializer_list<std::pair<std::string_view, Value>> words) {
  for (const auto& [known, value] : words) {
    if (known == word) return value;
  }
  throw DatabaseError{{Fault::stop, "", "this version does not know the database's word \"" + std::string{word} + '"'}};
}

}  // namespace inboxd::inbox
