#include "history/stretch.hpp"

#include <cmath>

namespace inboxd::history {
namespace {

/// The newest minutes are unknown until each instance has written them.
constexpr std::int64_t max_unknown_seconds = 300;
/// Values lose up to this share when they are written.
constexpr float rounding = 0.02F;

std::int64_t begin_of(const View& view, std::size_t step) {
  return view.end - static_cast<std::int64_t>(view.steps - step) * view.step;
}

/// One behind the newest step with a value; 0: none, or it is too long ago.
std::size_t known_end(const View& view, const Values& values) {
  std::size_t end = values.size();
  while (end > 0 && std::isnan(values[end - 1])) --end;
  const auto unknown_steps = static_cast<std::int64_t>(values.size() - end);
  return unknown_steps * view.step > max_unknown_seconds ? 0 : end;
}

}  // namespace

std::optional<FailingStretch> failing_stretch(const View& view, const Track& handler) {
  const Values& failures = handler.fields[failed];
  const Values& successes = handler.fields[done];
  const std::size_t end = known_end(view, failures);
  std::size_t first = end;
  FailingStretch out;
  for (std::size_t i = end; i > 0; --i) {
    const float bad = failures[i - 1], good = successes[i - 1];
    if (std::isnan(bad) || std::isnan(good) || bad < good) break;
    if (bad + good == 0) continue;
    first = i - 1;
    out.failed += static_cast<double>(bad) * static_cast<double>(view.step);
    out.done += static_cast<double>(good) * static_cast<double>(view.step);
  }
  if (first == end) return std::nullopt;
  out.since = begin_of(view, first);
  out.seconds = static_cast<std::int64_t>(end - first) * view.step;
  return out;
}

std::optional<std::int64_t> growing_since(const View& view, const Values& values) {
  const std::size_t end = known_end(view, values);
  if (end == 0) return std::nullopt;
  std::size_t first = end - 1;
  while (first > 0 && values[first - 1] <= values[first] * (1 + rounding)) --first;  // false at an unknown value
  // A level that stayed as it is before the growth is not its beginning.
  while (first + 1 < end && values[first + 1] <= values[first] * (1 + rounding)) ++first;
  if (first + 1 >= end) return std::nullopt;
  return begin_of(view, first + 1);
}

}  // namespace inboxd::history
