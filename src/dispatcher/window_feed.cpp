#include "dispatcher/window_feed.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace inboxd::dispatcher {

std::vector<RunSlice> WindowFeed::take(const TakeContext& context) {
  std::vector<RunSlice> out;
  RunQueue& queue = context.queue;
  std::int64_t left = context.events_per_call;
  bool is_complete = window_.is_read() || context.is_full || context.is_alone;
  std::optional<std::int64_t> group;
  while (left > 0) {
    auto slice = queue.next_slice([](const settler::Run&) { return true; });
    if (!slice) break;
    const bool is_first = out.empty();
    const bool joins = is_first || (!slice->one_by_one && !out.front().one_by_one &&
                                    is_suspect(slice->run->lease) == is_suspect(out.front().run->lease) &&
                                    (!groups_by_key_ || slice->run->lease.group == group));
    if (!joins) {
      queue.push_front(std::move(*slice));
      is_complete = true;
      break;
    }
    group = slice->run->lease.group;
    RunSlice part = *slice;
    part.end = std::min(part.end, part.first + static_cast<std::size_t>(part.one_by_one ? 1 : left));
    part.begins_call = is_first;
    left -= part.size();
    slice->first = part.end;
    if (slice->first < slice->end) queue.push_front(std::move(*slice));
    out.push_back(std::move(part));
  }
  if (left > 0 && !is_complete) {
    for (auto slice = out.rbegin(); slice != out.rend(); ++slice) queue.push_front(std::move(*slice));
    return {};
  }
  for (const RunSlice& slice : out) queue.taken(*slice.run, slice.size());
  return out;
}

}  // namespace inboxd::dispatcher
