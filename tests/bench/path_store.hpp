#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "event/offsets.hpp"
#include "feed.hpp"
#include "inbox/arrays.hpp"
#include "session.hpp"

namespace inboxd::bench {

/// A delivery of the path: events of one partition that are in hand.
struct PathRun {
  std::int64_t delivery_id = 0;
  int partition = 0;
  event::OffsetRange offsets;
};

/// The planned flow without everything that makes it safe or useful: the second limit. Ledger, event, position and one
/// run a partition in one transaction and one round trip; no routing, no lost position, no duplicate, no retry.
class PathStore final {
 public:
  /// Makes the tables, empty.
  static void create(Session& session, int partitions);

  explicit PathStore(const std::string& database_url);

  /// Stores a batch; its runs are born leased. Throws where anything of it is not new.
  std::vector<PathRun> store(const FeedBatch& batch);
  /// Deletes deliveries and appends their outcomes.
  void settle(const std::vector<PathRun>& runs);

 private:
  Session session_;
};

/// The bytes of a finished array parameter.
std::string_view text_of(inbox::ArrayParameter& array);

}  // namespace inboxd::bench
