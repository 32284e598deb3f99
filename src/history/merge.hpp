#pragma once
#include <cstdint>
#include <vector>

#include "history/series.hpp"

namespace inboxd::history {

/// The summary that another instance, or an earlier process, wrote into its row.
struct Peer {
  View minutes;
  bool is_live = false;
  std::int64_t last_seen = 0;  ///< seconds since 1970
};

/// Adds the peers to the steps that end after `from`. A sum is unknown where the part of an instance is unknown that
/// was at work before and after, or still is: the last minute of a live peer, which it has yet to write. Figures of
/// the database are taken from the first that knows them. Pure.
void merge(View& into, const std::vector<Peer>& peers, std::int64_t from = 0);

}  // namespace inboxd::history
