#include "history/series.hpp"

#include <algorithm>
#include <cmath>

namespace inboxd::history {

float over_time(Kind kind, const Values& values) {
  float out = unknown;
  int known = 0;
  for (const float value : values) {
    if (std::isnan(value)) continue;
    ++known;
    const bool is_first = known == 1;
    switch (kind) {
      case Kind::rate:
      case Kind::count:
        out = is_first ? value : out + value;
        break;
      case Kind::part:
      case Kind::whole:
        out = value;
        break;
      case Kind::peak:
        out = is_first ? value : std::max(out, value);
        break;
    }
  }
  return kind == Kind::rate && known > 0 ? out / static_cast<float>(known) : out;
}

float over_instances(Kind kind, float own, float other) {
  if (std::isnan(own)) return other;
  if (std::isnan(other) || kind == Kind::whole) return own;
  return kind == Kind::peak ? std::max(own, other) : own + other;
}

}  // namespace inboxd::history
