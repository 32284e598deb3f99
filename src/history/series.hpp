#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inboxd::history {

inline constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
/// A value for each step, oldest first.
using Values = std::vector<float>;

/// How the values of several steps or instances become a single value. Unknown values are left out.
enum class Kind {
  rate,   ///< a second: the mean over time, the sum over instances
  count,  ///< in a step: the sum of both
  part,   ///< of this instance: the last over time, the sum over instances
  whole,  ///< of the database: the last over time, never a sum over instances
  peak,   ///< the highest of both
};
float over_time(Kind kind, const Values& values);
float over_instances(Kind kind, float own, float other);

struct Field {
  const char* name;  ///< in the document
  Kind kind;
};
enum TopicField : std::size_t { in, lag, lag_seconds, quarantined };
inline constexpr std::array<Field, 4> topic_fields{
    {{"in_per_s", Kind::rate}, {"lag", Kind::whole}, {"lag_s", Kind::whole}, {"quarantined", Kind::count}}};
enum HandlerField : std::size_t { done, failed, p50, p99, busy, waiting, blocked_keys, dead };
inline constexpr std::array<Field, 8> handler_fields{{{"done_per_s", Kind::rate},
                                                      {"failed_per_s", Kind::rate},
                                                      {"p50_ms", Kind::peak},
                                                      {"p99_ms", Kind::peak},
                                                      {"busy", Kind::part},
                                                      {"waiting", Kind::whole},
                                                      {"blocked_keys", Kind::part},
                                                      {"dead", Kind::whole}}};

/// The values of a topic or a handler.
struct Track {
  std::vector<Values> fields;              ///< as in the tables above
  std::map<std::string, Values> failures;  ///< of a handler, in each step, by error class
  std::int64_t allowed = 0;                ///< calls of a handler that may run at once
};
using Tracks = std::map<std::string, Track>;

template <class Work>
void each_series(Tracks& tracks, Work work) {
  for (auto& [name, track] : tracks) {
    for (Values& values : track.fields) work(values);
    for (auto& [error_class, values] : track.failures) work(values);
  }
}

/// What is known of a span of time.
struct View {
  std::int64_t step = 0;  ///< seconds
  std::int64_t end = 0;   ///< of the last step, in seconds since 1970
  std::size_t steps = 0;
  Tracks topics, handlers;
  std::int64_t merged_until = 0;  ///< the steps until then have other instances' figures, too
};

/// Something that happened, on the same axis of time.
struct Mark {
  std::int64_t at_us = 0;  ///< since 1970
  std::string kind;        ///< `fault`, `recovered`, …
  std::string text;
  std::optional<std::string> who{};  ///< an operator
};

enum class Span { hour, day };
inline constexpr std::int64_t hour_step = 10;  ///< seconds
inline constexpr std::int64_t day_step = 300;
inline constexpr std::size_t hour_steps = 360;
inline constexpr std::size_t day_steps = 288;

}  // namespace inboxd::history
