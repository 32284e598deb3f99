#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::transaction {

/// Why a handler may not run this statement, as a clause for "the handler …": it would end the transaction or change
/// the session. nullopt: it may. Checks the first words only; inbox.check_session finds the rest afterwards, such as
/// calls inside functions. Also accepts the tag of a finished command.
std::optional<std::string> refused_because(std::string_view sql);

/// Whether the statement leaves state that later calls of the transaction would see: a setting, a cursor, a temporary
/// table. Does not look into functions.
bool leaves_state(std::string_view sql);

/// A handler's statement as it is sent, possibly with a common table expression inserted.
struct SentText {
  std::string text;
  std::size_t inserted_at = 0;  ///< in characters
  std::size_t inserted = 0;

  /// Converts the server's position (from 1) in the sent text to a position in the handler's text; 0: outside of it.
  std::uint32_t position_of(std::uint32_t sent) const;
};

/// Inserts `expression` (`name as (…)`) before the statement's own WITH expressions. nullopt: the statement cannot have
/// any.
std::optional<SentText> with_expression(std::string_view sql, std::string_view expression);

}  // namespace inboxd::transaction
