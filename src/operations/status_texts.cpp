#include "operations/status_texts.hpp"

#include <algorithm>

#include "inbox/connection_access.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using inbox::ArrayParameter;
using Type = ArrayParameter::Type;

// As status_queries.cpp counts.
constexpr std::int64_t max_records = 10'000;
constexpr std::int64_t max_lane_rows = 10'000;

constexpr const char* insufficient_privilege = "42501";

/// Calls `each` with a reader of each row. False: the role may not read them.
template <class Each>
bool read_texts(inbox::Connection& connection, const inbox::Statement& statement, const pqxx::params& parameters,
                Each each) {
  try {
    for (const auto& found : inbox::run_read(connection, statement, parameters)) each(inbox::RowReader{found});
  } catch (const inbox::DatabaseError& error) {
    if (error.failure().sqlstate == insufficient_privilege) return false;
    throw;
  }
  return true;
}

bool add_failures(inbox::Connection& connection, Activities& activities) {
  ArrayParameter handlers{Type::int4}, events{Type::uuid};
  for (const auto& [handler_id, activity] : activities) {
    const auto event = base::parse_uuid(activity.sum.last_failed_event);
    if (!event) continue;
    handlers.add(handler_id);
    events.add(*event);
  }
  return read_texts(connection, inbox::statements::op_failure_texts, pqxx::params{handlers.finish(), events.finish()},
                    [&](inbox::RowReader row) {
                      auto& activity = activities.at(row.int4());
                      activity.last_message = row.text();
                    });
}

void add_dead_letters(inbox::Connection& connection, std::vector<DeadGrowth>& all) {
  ArrayParameter handlers{Type::int4}, classes{Type::text};
  for (const DeadGrowth& growth : all) {
    handlers.add(growth.handler_id);
    classes.add(growth.error_class);
  }
  read_texts(connection, inbox::statements::op_dead_texts, pqxx::params{handlers.finish(), classes.finish()},
             [&](inbox::RowReader row) {
               const auto handler_id = row.int4();
               const auto text = row.text();
               for (DeadGrowth& growth : all) {
                 if (growth.handler_id == handler_id) growth.message = text;
               }
             });
}

void add_quarantine(inbox::Connection& connection, std::vector<QuarantineGrowth>& all) {
  read_texts(connection, inbox::statements::op_quarantine_texts, pqxx::params{max_records}, [&](inbox::RowReader row) {
    const auto topic = row.text();
    const auto detail = row.text();
    const bool are_empty = row.flag();
    for (QuarantineGrowth& growth : all) {
      if (growth.topic != topic) continue;
      growth.detail = detail;
      growth.are_empty = are_empty;
    }
  });
}

void add_blocked_keys(inbox::Connection& connection, std::vector<BlockedKeys>& all) {
  read_texts(connection, inbox::statements::op_blocked_texts, pqxx::params{max_lane_rows}, [&](inbox::RowReader row) {
    const auto handler_id = row.int4();
    const auto key = row.maybe_text();
    const auto error = row.text();
    for (BlockedKeys& blocked : all) {
      if (blocked.handler_id != handler_id) continue;
      blocked.key = key;
      blocked.last_error = error;
    }
  });
}

}  // namespace

void add_texts(inbox::Connection& connection, Situation& situation) {
  if (!add_failures(connection, situation.activities)) return;
  add_dead_letters(connection, situation.dead_growth);
  add_quarantine(connection, situation.quarantine_growth);
  add_blocked_keys(connection, situation.blocked);
  add_pause_reasons(connection, situation.handlers);
}

void add_pause_reasons(inbox::Connection& connection, std::vector<HandlerState>& handlers) {
  read_texts(connection, inbox::statements::op_pause_texts, pqxx::params{}, [&](inbox::RowReader row) {
    const auto handler_id = row.int4();
    const auto reason = row.text();
    for (HandlerState& handler : handlers) {
      if (handler.handler_id == handler_id && handler.paused_reason) handler.paused_reason = reason;
    }
  });
}

}  // namespace inboxd::operations
