#include "operations/suspect_queries.hpp"

#include "inbox/row_reader.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

constexpr std::int64_t most_suspects = 3;

}  // namespace

std::vector<SuspectState> read_suspects(inbox::Connection& connection) {
  std::vector<SuspectState> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_suspects, pqxx::params{most_suspects})) {
    inbox::RowReader row{found};
    SuspectState suspect;
    suspect.handler = row.text();
    suspect.topic = row.text();
    suspect.partition = row.int4();
    suspect.offset = row.int8();
    suspect.events = row.int4();
    suspect.crashes = row.int4();
    suspect.event_id = row.maybe_text().value_or("");
    out.push_back(std::move(suspect));
  }
  return out;
}

}  // namespace inboxd::operations
