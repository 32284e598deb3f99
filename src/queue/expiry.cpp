#include "queue/expiry.hpp"

#include <algorithm>
#include <utility>

#include "settler/settlement.hpp"

namespace inboxd::dispatcher {
namespace {

bool may_expire(const RunSlice& slice) {
  return slice.run->policy->expire_after.has_value() && !slice.run->lease.never_expires;
}

/// The end of the events from `first` on that have expired, or that have not, as `first`.
std::size_t end_of_alike(const RunSlice& slice, std::size_t first, bool is_expired, event::Microseconds now) {
  std::size_t end = first + 1;
  while (end < slice.end && (settler::left_of(*slice.run, end, now)->count() <= 0) == is_expired) ++end;
  return end;
}

settler::Report expired(const std::shared_ptr<settler::Run>& run, std::size_t first, std::size_t end) {
  settler::Report out{run, first, end, {}};
  for (std::size_t i = first; i < end; ++i) {
    out.failed.push_back({i, {}, std::chrono::milliseconds{0}, settler::FailedEvent::Kind::expired});
  }
  return out;
}

}  // namespace

std::vector<settler::Report> take_out_expired(std::vector<RunSlice>& slices, event::Microseconds now) {
  std::vector<settler::Report> out;
  if (std::none_of(slices.begin(), slices.end(), may_expire)) return out;
  std::vector<RunSlice> fresh;
  bool begins_call = false;  // also if the call's first events are taken out
  for (RunSlice& slice : slices) {
    begins_call = begins_call || slice.begins_call;
    if (!may_expire(slice)) {
      slice.begins_call = std::exchange(begins_call, false);
      fresh.push_back(std::move(slice));
      continue;
    }
    for (std::size_t first = slice.first, end = first; first < slice.end; first = end) {
      const bool is_expired = settler::left_of(*slice.run, first, now)->count() <= 0;
      end = end_of_alike(slice, first, is_expired, now);
      if (is_expired) {
        out.push_back(expired(slice.run, first, end));
      } else {
        fresh.push_back({slice.run, first, end, slice.one_by_one, std::exchange(begins_call, false)});
      }
    }
  }
  slices = std::move(fresh);
  return out;
}

}  // namespace inboxd::dispatcher
