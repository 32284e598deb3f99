#include "history/ring.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace inboxd::history {
namespace {

constexpr const char* other = "other";

float total(const Values& values) {
  const float out = over_time(Kind::count, values);
  return std::isnan(out) ? 0 : out;
}

bool is_unknown(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
}

std::size_t bytes_of(const Tracks& tracks) {
  constexpr std::size_t node = 4 * sizeof(void*);
  std::size_t out = 0;
  for (const auto& [name, track] : tracks) {
    out += node + sizeof name + name.capacity() + sizeof track + track.fields.capacity() * sizeof(Values);
    for (const Values& values : track.fields) out += values.capacity() * sizeof(float);
    for (const auto& [error_class, values] : track.failures) {
      out += node + sizeof error_class + error_class.capacity() + sizeof values + values.capacity() * sizeof(float);
    }
  }
  return out;
}

}  // namespace

std::size_t Ring::place_of(std::int64_t number) const {
  const auto size = static_cast<std::int64_t>(steps_);
  return static_cast<std::size_t>((number % size + size) % size);
}

bool Ring::has(std::int64_t number) const {
  return newest_ && number <= *newest_ && number > *newest_ - static_cast<std::int64_t>(steps_);
}

void Ring::clear(std::int64_t number) {
  const auto forget = [&](Values& values) { at(values, number) = unknown; };
  each_series(topics_, forget);
  each_series(handlers_, forget);
}

void Ring::move_to(std::int64_t number) {
  const auto size = static_cast<std::int64_t>(steps_);
  const std::int64_t before = newest_.value_or(number);
  newest_ = number;
  if (number >= before) {
    for (std::int64_t each = std::max(before + 1, number - size + 1); each <= number; ++each) clear(each);
  } else {
    for (std::int64_t each = before; each > std::max(number, before - size); --each) clear(each);
  }
}

Track* Ring::find(Tracks& tracks, const std::string& name, std::size_t fields) {
  const auto found = tracks.find(name);
  if (found != tracks.end()) return &found->second;
  if (tracks.size() >= max_names) return nullptr;
  Track& out = tracks[name];
  out.fields.assign(fields, new_values());
  return &out;
}

Values& Ring::failures_of(Track& handler, const std::string& error_class) {
  return handler.failures.try_emplace(error_class, new_values()).first->second;
}

Values& Ring::failures(Track& handler, const std::string& error_class, float count) {
  const auto found = handler.failures.find(error_class);
  if (found != handler.failures.end()) return found->second;
  const std::size_t named = handler.failures.size() - handler.failures.count(other);
  if (error_class == other || named < max_classes) return failures_of(handler, error_class);
  Values& rest = failures_of(handler, other);
  auto least = handler.failures.end();
  for (auto each = handler.failures.begin(); each != handler.failures.end(); ++each) {
    if (each->first == other) continue;
    if (least == handler.failures.end() || total(each->second) < total(least->second)) least = each;
  }
  if (total(least->second) >= count) return rest;
  for (std::size_t i = 0; i < steps_; ++i) rest[i] = over_instances(Kind::count, rest[i], least->second[i]);
  handler.failures.erase(least);
  return failures_of(handler, error_class);
}

Values Ring::in_order(const Values& values) const {
  Values out;
  out.reserve(steps_);
  const auto size = static_cast<std::int64_t>(steps_);
  for (std::int64_t each = *newest_ - size + 1; each <= *newest_; ++each) out.push_back(at(values, each));
  return out;
}

Tracks Ring::in_order(const Tracks& tracks) const {
  Tracks out;
  for (const auto& [name, track] : tracks) {
    Track& into = out[name];
    into.allowed = track.allowed;
    for (const Values& values : track.fields) into.fields.push_back(in_order(values));
    for (const auto& [error_class, values] : track.failures) into.failures[error_class] = in_order(values);
  }
  return out;
}

View Ring::view() const {
  View out{step_, 0, steps_, {}, {}, 0};
  if (!newest_) return out;
  out.end = (*newest_ + 1) * step_;
  out.topics = in_order(topics_);
  out.handlers = in_order(handlers_);
  return out;
}

void Ring::forget_unknown() {
  const auto has_nothing = [](const auto& entry) {
    const auto& fields = entry.second.fields;
    return std::all_of(fields.begin(), fields.end(), is_unknown);
  };
  std::erase_if(topics_, has_nothing);
  std::erase_if(handlers_, has_nothing);
  for (auto& [name, track] : handlers_) {
    std::erase_if(track.failures, [](const auto& entry) { return is_unknown(entry.second); });
  }
}

std::size_t Ring::bytes() const { return sizeof *this + bytes_of(topics_) + bytes_of(handlers_); }

}  // namespace inboxd::history
