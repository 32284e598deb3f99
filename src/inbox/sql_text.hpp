#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::inbox {

/// Why a handler may not run this statement, to follow "the handler ": it would end the transaction or change the
/// session. Looks at the first words only; what hides in functions is found out afterwards (inbox.session_held). Takes
/// the tag of a finished command, too.
std::optional<std::string> refused_because(std::string_view sql);

/// Whether it leaves something in the transaction that other calls in it would meet: a setting, a cursor, a temporary
/// table. What hides in functions is not seen.
bool lingers(std::string_view sql);

/// A handler's statement as it is sent: with a common table expression put in, where it wants one.
struct SentText {
  std::string text;
  std::size_t inserted_at = 0;  ///< in characters
  std::size_t inserted = 0;

  /// Where the server's position (from 1, of the sent text) is in the handler's text; 0: nowhere.
  std::uint32_t position_of(std::uint32_t sent) const;
};

/// The statement with `expression` (`name as (…)`) before its own WITH expressions; nothing where it is none that can
/// have any.
std::optional<SentText> with_expression(std::string_view sql, std::string_view expression);

}  // namespace inboxd::inbox
