#include "operations/lane_queries.hpp"

#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Type = inbox::ArrayParameter::Type;

void append_filter(pqxx::params& into, const LaneFilter& filter) {
  into.append(filter.handler);
  append_bytes(into, filter.key);
}

}  // namespace

std::vector<KeyLane> list_lanes(inbox::Connection& connection, const LaneFilter& filter, std::int64_t limit) {
  pqxx::params parameters;
  append_filter(parameters, filter);
  parameters.append(limit);
  std::vector<KeyLane> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_lanes_list, parameters)) {
    inbox::RowReader row{found};
    KeyLane lane;
    lane.handler = row.text();
    lane.key = row.maybe_bytes();
    lane.state = row.text();
    lane.waiting = row.int8();
    lane.head_event_id = row.maybe_uuid();
    lane.attempts = row.int4();
    lane.due_at = row.maybe_int8();
    lane.last_error = row.maybe_text();
    out.push_back(std::move(lane));
  }
  return out;
}

std::vector<ParkedKey> pick_parked(inbox::Connection& connection, const LaneFilter& filter,
                                   const std::optional<std::vector<std::int64_t>>& dead_letter_ids,
                                   std::int64_t limit) {
  auto ids = inbox::array_of(Type::int8, dead_letter_ids.value_or(std::vector<std::int64_t>{}));
  pqxx::params parameters;
  append_filter(parameters, filter);
  if (dead_letter_ids) {
    parameters.append(ids.finish());
  } else {
    parameters.append();
  }
  parameters.append(limit);
  std::vector<ParkedKey> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_lanes_pick, parameters)) {
    inbox::RowReader row{found};
    ParkedKey key;
    key.dead_letter_id = row.int8();
    key.handler = row.text();
    out.push_back(std::move(key));
  }
  return out;
}

}  // namespace inboxd::operations
