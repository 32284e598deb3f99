#include "operations/lane_queries.hpp"

#include "operations/row_columns.hpp"
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

Document list_lanes(inbox::Connection& connection, const LaneFilter& filter, std::int64_t limit) {
  pqxx::params parameters;
  append_filter(parameters, filter);
  parameters.append(limit);
  return list_rows(connection, inbox::statements::op_lanes_list, parameters, columns::lane);
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
  return read_all(connection, inbox::statements::op_lanes_pick, parameters,
                  [](auto row) { return ParkedKey{row.int8(), row.text()}; });
}

}  // namespace inboxd::operations
