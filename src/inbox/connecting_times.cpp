#include "inbox/connecting_times.hpp"

#include <algorithm>

namespace inboxd::inbox {

ConnectingTimes connecting_times(std::chrono::milliseconds deadline, std::chrono::milliseconds most_beyond,
                                 long hosts) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  constexpr seconds shortest{2}, longest{30};
  // A name has two addresses as a rule.
  constexpr int addresses = 2;
  ConnectingTimes out{std::clamp(std::chrono::duration_cast<seconds>(deadline / hosts), shortest, longest), {}};
  const milliseconds all = out.each * hosts * addresses + seconds{1};
  out.all = std::min<milliseconds>(std::max(all, deadline), deadline + most_beyond);
  return out;
}

}  // namespace inboxd::inbox
