#pragma once
#include <span>

#include "inbox/handler_transaction.hpp"
#include "inbox/prepared_sql.hpp"
#include "inbox/sql_parameters.hpp"

namespace inboxd::inbox {

/// How relation `events` gets to a handler's statement. Private to this room.

/// The events of a call that a statement speaks of.
std::span<const CallEvent> part_of(const std::vector<CallEvent>& events, std::size_t first, std::size_t count);

/// Whether they are read where they are, or sent with the statement.
Sight sight_of(const SqlStatement& statement, std::span<const CallEvent> events);

/// How many parameters the relation has.
std::size_t event_parameters(Sight sight);

/// The relation as a common table expression out of `text`, its parameters numbered behind `before` of the handler's.
std::string events_expression(const std::string& text, std::size_t before);

/// Its parameters.
void add_events(SqlParameters& to, Sight sight, std::span<const CallEvent> events);

}  // namespace inboxd::inbox
