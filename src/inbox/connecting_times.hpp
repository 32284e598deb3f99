#pragma once
#include <chrono>

namespace inboxd::inbox {

/// How long connecting may take: each address of a host, and all of it.
struct ConnectingTimes {
  std::chrono::seconds each;
  std::chrono::milliseconds all;
};
/// The deadline is divided among the hosts, but libpq gives no address less than two seconds. All of it takes no more
/// than `most_beyond` longer than the deadline, which is less than what a loop may stand still (daemon/live), however
/// many addresses there are. Pure.
ConnectingTimes connecting_times(std::chrono::milliseconds deadline, std::chrono::milliseconds most_beyond,
                                 long hosts);

}  // namespace inboxd::inbox
