#pragma once
#include <cstdint>
#include <optional>

#include "history/series.hpp"

namespace inboxd::history {

/// The newest steps in a row in which at least half of a handler's calls failed.
struct FailingStretch {
  std::int64_t since = 0;    ///< seconds since 1970
  std::int64_t seconds = 0;  ///< until the last step that is known
  double failed = 0;         ///< as exact as the values are, which other instances round to a hundredth
  double done = 0;
};
/// Steps without a call belong to the stretch, but do not begin it. nullopt: the newest steps with calls did not fail,
/// or are long ago. Pure.
std::optional<FailingStretch> failing_stretch(const View& view, const Track& handler);

/// Since when, in seconds since 1970, the values have grown without a fall. nullopt: they do not,
/// or by less than their rounding. Pure.
std::optional<std::int64_t> growing_since(const View& view, const Values& values);

}  // namespace inboxd::history
