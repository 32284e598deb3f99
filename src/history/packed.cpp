#include "history/packed.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "history/ring.hpp"

namespace inboxd::history {
namespace {

constexpr char version = 1;
constexpr std::size_t max_name_bytes = 512;
/// A value becomes the logarithm of a hundredfold, so that neighbours differ by a byte. 0: unknown.
constexpr float codes_per_doubling = 64;
constexpr float finest = 100;
constexpr std::uint64_t max_code = 3'000;

std::uint64_t code_of(float value) {
  if (std::isnan(value)) return 0;
  const float code = std::round(codes_per_doubling * std::log2(1 + finest * std::max(value, 0.0F)));
  return 1 + std::min(static_cast<std::uint64_t>(code), max_code - 1);
}

float value_of(std::uint64_t code) {
  if (code == 0) return unknown;
  const float value = (std::exp2(static_cast<float>(code - 1) / codes_per_doubling) - 1) / finest;
  const float whole = std::round(value);
  return code_of(whole) == code ? whole : value;
}

void put(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(0x80 | (number & 0x7f));
  out += static_cast<char>(number);
}

void put(std::string& out, const std::string& text) {
  put(out, text.size());
  out += text;
}

/// Differences, with the sign in the lowest bit; after 0 the number of further equal values.
void put(std::string& out, const Values& values) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto code = static_cast<std::int64_t>(code_of(values[i]));
    const std::int64_t step = code - before;
    before = code;
    put(out, static_cast<std::uint64_t>(step < 0 ? -2 * step - 1 : 2 * step));
    if (step != 0) continue;
    std::size_t equal = 0;
    while (i + 1 < values.size() && static_cast<std::int64_t>(code_of(values[i + 1])) == code) ++i, ++equal;
    put(out, equal);
  }
}

void put(std::string& out, const Tracks& tracks, bool are_handlers) {
  put(out, tracks.size());
  for (const auto& [name, track] : tracks) {
    put(out, name);
    for (const Values& values : track.fields) put(out, values);
    if (!are_handlers) continue;
    put(out, static_cast<std::uint64_t>(std::max<std::int64_t>(track.allowed, 0)));
    put(out, track.failures.size());
    for (const auto& [error_class, values] : track.failures) {
      put(out, error_class);
      put(out, values);
    }
  }
}

std::string packed(const View& minutes) {
  std::string out{version};
  put(out, static_cast<std::uint64_t>(minutes.end / minute_step));
  put(out, minutes.steps);
  put(out, minutes.topics, false);
  put(out, minutes.handlers, true);
  return out;
}

View without_older_half(View minutes) {
  minutes.steps /= 2;
  const auto shorten = [&](Values& values) {
    values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(minutes.steps));
  };
  each_series(minutes.topics, shorten);
  each_series(minutes.handlers, shorten);
  return minutes;
}

/// Reads what may be anything. After the first error all further values are 0 or empty.
class Reader final {
 public:
  explicit Reader(std::string_view bytes) : bytes_{bytes} {}

  std::uint64_t number(std::uint64_t most) {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      if (at_ == bytes_.size()) return fail();
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return out <= most ? out : fail();
    }
    return fail();
  }
  std::string name() {
    const std::size_t size = number(max_name_bytes);
    if (size > bytes_.size() - at_) return fail(), "";
    std::string out{bytes_.substr(at_, size)};
    at_ += size;
    if (!base::is_utf8(out)) fail();
    return out;
  }
  Values values(std::size_t steps) {
    Values out;
    std::int64_t code = 0;
    while (out.size() < steps && is_well_) {
      const auto step = static_cast<std::int64_t>(number(2 * max_code + 1));
      code += step % 2 == 1 ? -(step + 1) / 2 : step / 2;
      if (code < 0 || code > static_cast<std::int64_t>(max_code)) fail();
      const std::size_t equal = step == 0 ? number(steps - out.size() - 1) : 0;
      if (is_well_) out.insert(out.end(), 1 + equal, value_of(static_cast<std::uint64_t>(code)));
    }
    return out;
  }
  bool has_ended_well() const { return is_well_ && at_ == bytes_.size(); }
  bool is_well() const { return is_well_; }

 private:
  std::uint64_t fail() {
    is_well_ = false;
    return 0;
  }

  const std::string_view bytes_;
  std::size_t at_ = 0;
  bool is_well_ = true;
};

Tracks read_tracks(Reader& from, std::size_t steps, std::size_t fields, bool are_handlers) {
  Tracks out;
  for (std::uint64_t left = from.number(Ring::max_names); left > 0 && from.is_well(); --left) {
    Track& track = out[from.name()];
    track.fields.clear();
    for (std::size_t i = 0; i < fields; ++i) track.fields.push_back(from.values(steps));
    if (!are_handlers) continue;
    track.allowed = static_cast<std::int64_t>(from.number(1'000'000));
    for (std::uint64_t some = from.number(Ring::max_classes + 1); some > 0 && from.is_well(); --some) {
      const std::string error_class = from.name();
      track.failures[error_class] = from.values(steps);
    }
  }
  return out;
}

}  // namespace

View minutes_of(const View& hour) {
  constexpr std::size_t steps_of_minute = minute_step / hour_step;
  View out{minute_step, hour.end - hour.end % minute_step, max_minutes, {}, {}, 0};
  const auto running = static_cast<std::size_t>((hour.end - out.end) / hour_step);  // steps of a minute that runs
  const auto shorter = [&](const Values& values, Kind kind) {
    Values minutes(max_minutes, unknown);
    for (std::size_t minute = 0; minute < max_minutes; ++minute) {
      const std::size_t ago = running + (max_minutes - minute) * steps_of_minute;
      if (ago > values.size()) continue;  // the oldest minute has begun before the hour
      const auto first = values.end() - static_cast<std::ptrdiff_t>(ago);
      minutes[minute] = over_time(kind, Values(first, first + steps_of_minute));
    }
    return minutes;
  };
  for (const auto& [name, track] : hour.topics) {
    for (std::size_t i = 0; i < topic_fields.size(); ++i) {
      out.topics[name].fields.push_back(shorter(track.fields[i], topic_fields[i].kind));
    }
  }
  for (const auto& [name, track] : hour.handlers) {
    Track& into = out.handlers[name];
    into.allowed = track.allowed;
    for (std::size_t i = 0; i < handler_fields.size(); ++i) {
      into.fields.push_back(shorter(track.fields[i], handler_fields[i].kind));
    }
    for (const auto& [error_class, values] : track.failures) {
      into.failures[error_class] = shorter(values, Kind::count);
    }
  }
  return out;
}

std::string pack(const View& minutes) {
  View some = minutes;
  while (true) {
    std::string out = packed(some);
    if (out.size() <= max_packed_bytes) return out;
    if (some.steps >= 10) {
      some = without_older_half(std::move(some));
    } else if (std::any_of(some.handlers.begin(), some.handlers.end(),
                           [](const auto& entry) { return !entry.second.failures.empty(); })) {
      for (auto& [name, track] : some.handlers) track.failures.clear();
    } else {
      return "";
    }
  }
}

std::optional<View> unpack(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > max_packed_bytes || bytes.front() != version) return std::nullopt;
  Reader from{bytes.substr(1)};
  View out;
  out.step = minute_step;
  out.end = static_cast<std::int64_t>(from.number(1ULL << 40)) * minute_step;
  out.steps = from.number(max_minutes);
  out.topics = read_tracks(from, out.steps, topic_fields.size(), false);
  out.handlers = read_tracks(from, out.steps, handler_fields.size(), true);
  if (!from.has_ended_well()) return std::nullopt;
  return out;
}

}  // namespace inboxd::history
