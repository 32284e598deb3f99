#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sql_failure.hpp"
#include "sql_statement.hpp"

namespace sql_handler {

/// The mistake in a statement, for the author of the configuration: the setting, the place, the server's message and,
/// if SQLSTATE and position tell it, the remedy.
std::string sentence_of(const Failure& failure, const Statement& statement);

/// The position of a second statement in the text; nullopt: there is none.
std::optional<std::size_t> second_statement(std::string_view text);

}  // namespace sql_handler
