#include "operations/suspect_queries.hpp"

#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

constexpr std::int64_t max_suspects = 3;

}  // namespace

std::vector<SuspectState> read_suspects(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_suspects, pqxx::params{max_suspects}, [](auto row) {
    return SuspectState{row.text(), row.text(), row.int4(), row.int8(),
                        row.int4(), row.int4(), row.maybe_text().value_or("")};
  });
}

}  // namespace inboxd::operations
