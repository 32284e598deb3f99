#pragma once
#include <span>

#include "transaction/handler_transaction.hpp"
#include "transaction/prepared_sql.hpp"
#include "transaction/sql_parameters.hpp"

/// How relation `events` reaches a handler's statement: read in the database, or sent with it.
namespace inboxd::transaction {

/// The events of a call that a statement selects.
std::span<const CallEvent> part_of(const std::vector<CallEvent>& events, std::size_t first, std::size_t count);

/// Decides whether the events are read in the database or sent with the statement.
EventSource source_for(const SqlStatement& statement, std::span<const CallEvent> events);

/// The number of parameters of the relation.
std::size_t event_parameters(EventSource source);

/// The common table expression in `text`, with its parameters numbered after the handler's `before` parameters.
std::string events_expression(const std::string& text, std::size_t before);

/// Adds the parameters of the relation.
void add_events(SqlParameters& to, EventSource source, std::span<const CallEvent> events, bool requires_json);

}  // namespace inboxd::transaction
