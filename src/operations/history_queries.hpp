#pragma once
#include <string>
#include <vector>

#include "event/record.hpp"
#include "history/merge.hpp"
#include "inbox/connection.hpp"

namespace inboxd::operations {

/// The summary of another instance, or of an earlier process.
struct WrittenHistory {
  base::Uuid instance_id;
  std::string host;
  event::Microseconds started_at = 0;
  history::Peer peer;
};
/// Of instances seen within the last hour, the newest first; without summaries that are truncated or too large, or of
/// another release.
std::vector<WrittenHistory> read_histories(inbox::Connection& connection, const base::Uuid& except);

/// The last hour of all instances in minutes.
history::View read_recent(inbox::Connection& connection, event::Microseconds now);

inline constexpr std::size_t max_marks = 500;
/// Starts, stops, crashes and changes since then, newest first. `with_actors`: with all that the audit names.
std::vector<history::Mark> read_marks(inbox::Connection& connection, std::int64_t seconds, bool with_actors);

}  // namespace inboxd::operations
