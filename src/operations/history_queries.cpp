#include "operations/history_queries.hpp"

#include "history/packed.hpp"
#include "operations/status_queries.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {

std::vector<WrittenHistory> read_histories(inbox::Connection& connection, const base::Uuid& except) {
  std::vector<WrittenHistory> out;
  const pqxx::params parameters{except.text(), live_within.count(), static_cast<int>(history::max_packed_bytes)};
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_history, parameters)) {
    inbox::RowReader row{found};
    WrittenHistory written;
    written.instance_id = row.uuid();
    written.host = row.text();
    written.started_at = row.int8();
    written.peer.last_seen = row.int8() / 1'000'000;
    written.peer.is_live = row.flag();
    auto minutes = history::unpack(row.maybe_bytes().value_or(""));
    if (!minutes) continue;
    written.peer.minutes = std::move(*minutes);
    out.push_back(std::move(written));
  }
  return out;
}

history::View read_recent(inbox::Connection& connection, event::Microseconds now) {
  history::View out;
  out.step = history::minute_step;
  out.steps = history::max_minutes;
  out.end = now / 1'000'000 / out.step * out.step;
  std::vector<history::Peer> peers;
  for (auto& written : read_histories(connection, base::Uuid{})) peers.push_back(std::move(written.peer));
  merge(out, peers);
  return out;
}

std::vector<history::Mark> read_marks(inbox::Connection& connection, std::int64_t seconds, bool with_actors) {
  const pqxx::params parameters{seconds, static_cast<int>(max_marks), with_actors, live_within.count()};
  return read_all(connection, inbox::statements::op_history_marks, parameters, [](inbox::RowReader row) {
    const auto at = row.int8();
    auto kind = row.text();
    auto text = row.text();
    return history::Mark{at, std::move(kind), std::move(text), row.maybe_text()};
  });
}

}  // namespace inboxd::operations
