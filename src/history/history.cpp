#include "history/history.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "history/packed.hpp"

namespace inboxd::history {
namespace {

constexpr std::int64_t steps_of_day_step = day_step / hour_step;
/// A shorter time between two samples gives no rate: the wall clock was set.
constexpr double shortest = 1;
/// Seconds until every instance has written a minute: it ends, and the next heartbeat has it.
constexpr std::int64_t patience_with_peers = 130;

/// The number of the step in which that time is.
std::int64_t step_at(std::int64_t wall, std::int64_t step) {
  return wall >= 0 ? wall / step : -((step - 1 - wall) / step);
}

float difference(std::uint64_t now, std::uint64_t before) {
  return now < before ? unknown : static_cast<float>(now - before);
}

float rate(std::uint64_t now, std::uint64_t before, double seconds) {
  return difference(now, before) / static_cast<float>(seconds);
}

float value_of(const std::optional<std::int64_t>& value) { return value ? static_cast<float>(*value) : unknown; }

/// Short calls by their durations, as few run at the moment of a sample; long calls by that moment.
float busy_calls(const HandlerSample& now, const HandlerSample& before, double seconds) {
  const double mean = std::max(0.0, now.calls.sum - before.calls.sum) / seconds;
  const double most = static_cast<double>(std::max(now.allowed, now.running_calls));
  return static_cast<float>(std::max(static_cast<double>(now.running_calls), std::min(mean, most)));
}

}  // namespace

float quantile_ms(const base::Histogram::Snapshot& now, const base::Histogram::Snapshot& before, double quantile) {
  const auto in_bucket = [&](std::size_t i) {
    const std::uint64_t earlier = i < before.counts.size() ? before.counts[i] : 0;
    return static_cast<double>(now.counts[i] - std::min(earlier, now.counts[i]));
  };
  double calls = 0;
  for (std::size_t i = 0; i < now.counts.size(); ++i) calls += in_bucket(i);
  if (calls == 0) return unknown;
  double rank = quantile * calls;
  for (std::size_t i = 0; i < now.bounds.size(); ++i) {
    const double count = in_bucket(i);
    const double low = i == 0 ? 0 : now.bounds[i - 1];
    if (count > 0 && rank <= count) return static_cast<float>(1000 * (low + (now.bounds[i] - low) * rank / count));
    rank -= count;
  }
  return static_cast<float>(1000 * now.bounds.back());
}

bool History::is_due(std::int64_t wall) const {
  const base::Lock lock{mutex_};
  return !last_ || last_->step != step_at(wall, hour_step);
}

void History::record(Sample sample, std::int64_t wall, Clock::time_point now) {
  const base::Lock lock{mutex_};
  const std::int64_t running = step_at(wall, hour_step);
  const double seconds = last_ ? std::chrono::duration<double>(now - last_->at).count() : 0;
  hour_.move_to(running - 1);
  day_.move_to(step_at(wall - hour_step, day_step));
  merged_until_ = std::min(merged_until_, wall);
  if (last_ && seconds < shortest) {
    last_->step = running;
    return;
  }
  for (const auto& [name, topic] : sample.topics) put_topic(name, topic, wall, seconds);
  for (const auto& [name, handler] : sample.handlers) put_handler(name, handler, seconds);
  update_day();
  const auto& topics = hour_.topics();
  std::erase_if(ends_, [&](const auto& entry) { return !topics.contains(entry.first); });
  last_ = Last{std::move(sample), running, now};
}

void History::put_topic(const std::string& name, const TopicSample& now, std::int64_t wall, double seconds) {
  Track* const track = hour_.topic(name);
  if (track == nullptr) return;
  const auto put = [&](TopicField field, float value) REQUIRES(mutex_) {
    hour_.at(track->fields[field], hour_.newest()) = value;
  };
  if (now.place) put_lag(*track, ends_[name], *now.place, wall);
  if (!last_) return;
  const auto before = last_->sample.topics.find(name);
  // A topic appears with its first record.
  const TopicSample none;
  const TopicSample& earlier = before == last_->sample.topics.end() ? none : before->second;
  put(in, rate(now.received, earlier.received, seconds));
  put(quarantined, difference(now.quarantined, earlier.quarantined));
}

/// The lag in seconds is the time since the logs ended where the positions are now.
void History::put_lag(Track& track, Ends& ends, const TopicSample::Place& place, std::int64_t wall) {
  while (!ends.empty() && ends.back().first >= wall) ends.pop_back();  // of a clock that went back
  const std::int64_t records = std::max<std::int64_t>(place.end - place.position, 0);
  float& seconds = hour_.at(track.fields[lag_seconds], hour_.newest());
  hour_.at(track.fields[lag], hour_.newest()) = static_cast<float>(records);
  const auto passed = std::find_if(ends.rbegin(), ends.rend(),
                                   [&](const auto& earlier) { return earlier.second <= place.position; });
  if (records == 0) {
    seconds = 0;
  } else if (passed != ends.rend()) {
    seconds = static_cast<float>(wall - passed->first);
  }
  ends.emplace_back(wall, place.end);
  if (ends.size() > hour_steps) ends.pop_front();
}

void History::put_handler(const std::string& name, const HandlerSample& now, double seconds) {
  Track* const track = hour_.handler(name);
  if (track == nullptr) return;
  track->allowed = now.allowed;
  const auto put = [&](HandlerField field, float value) REQUIRES(mutex_) {
    hour_.at(track->fields[field], hour_.newest()) = value;
  };
  put(waiting, value_of(now.waiting));
  put(dead, value_of(now.dead));
  put(blocked_keys, static_cast<float>(now.blocked_keys));
  if (!last_) return;
  const auto found = last_->sample.handlers.find(name);
  if (found == last_->sample.handlers.end()) return;
  const HandlerSample& before = found->second;
  put(done, rate(now.done, before.done, seconds));
  put(failed, rate(now.failed, before.failed, seconds));
  put(p50, quantile_ms(now.calls, before.calls, 0.5));
  put(p99, quantile_ms(now.calls, before.calls, 0.99));
  put(busy, busy_calls(now, before, seconds));
  put_failures(*track, now, before);
}

void History::put_failures(Track& track, const HandlerSample& now, const HandlerSample& before) {
  for (auto& [error_class, values] : track.failures) hour_.at(values, hour_.newest()) = 0;
  for (const auto& [error_class, count] : now.failures) {
    const auto found = before.failures.find(error_class);
    const float more = difference(count, found == before.failures.end() ? 0 : found->second);
    if (std::isnan(more) || more == 0) continue;
    float& value = hour_.at(hour_.failures(track, error_class, more), hour_.newest());
    value = over_instances(Kind::count, value, more);
  }
}

Values History::part_of_hour(const Values& values) const {
  Values out;
  const std::int64_t first = day_.newest() * steps_of_day_step;
  for (std::int64_t each = first; each < first + steps_of_day_step; ++each) {
    if (hour_.has(each)) out.push_back(hour_.at(values, each));
  }
  return out;
}

void History::update_day() {
  const auto update = [&](const Tracks& tracks, const auto& fields, auto find) REQUIRES(mutex_) {
    for (const auto& [name, from] : tracks) {
      Track* const into = find(name);
      if (into == nullptr) continue;
      into->allowed = from.allowed;
      for (std::size_t i = 0; i < fields.size(); ++i) {
        day_.at(into->fields[i], day_.newest()) = over_time(fields[i].kind, part_of_hour(from.fields[i]));
      }
      for (auto& [error_class, values] : into->failures) day_.at(values, day_.newest()) = unknown;
      for (const auto& [error_class, values] : from.failures) {
        const float count = over_time(Kind::count, part_of_hour(values));
        if (std::isnan(count) || count == 0) continue;
        float& value = day_.at(day_.failures(*into, error_class, count), day_.newest());
        value = over_instances(Kind::count, value, count);
      }
    }
  };
  update(hour_.topics(), topic_fields, [&](const auto& name) REQUIRES(mutex_) { return day_.topic(name); });
  update(hour_.handlers(), handler_fields, [&](const auto& name) REQUIRES(mutex_) { return day_.handler(name); });
  hour_.forget_unknown();
  day_.forget_unknown();
}

View History::view(Span span) const {
  const base::Lock lock{mutex_};
  if (span == Span::hour) return hour_.view();
  View out = day_.view();
  out.merged_until = merged_until_;
  return out;
}

std::optional<std::string> History::take_minutes() {
  View hour;
  {
    const base::Lock lock{mutex_};
    const std::int64_t end = (hour_.newest() + 1) * hour_step;
    if (!last_ || end / minute_step == packed_until_) return std::nullopt;
    packed_until_ = end / minute_step;
    hour = hour_.view();
  }
  return pack(minutes_of(hour));
}

std::int64_t History::written_until() const {
  if (!last_) return 0;
  const std::int64_t until = last_->step * hour_step - patience_with_peers;
  return until - until % day_step;
}

bool History::wants_peers() const {
  const base::Lock lock{mutex_};
  return written_until() > merged_until_;
}

void History::add_peers(const std::vector<Peer>& peers) {
  const base::Lock lock{mutex_};
  const std::int64_t until = written_until();
  if (until <= merged_until_) return;
  View merged = day_.view();
  // Rows have an hour. Steps that were merged before a clock went back stay as they are.
  const std::int64_t from = std::max(merged_until_, until - static_cast<std::int64_t>(max_minutes) * minute_step);
  merge(merged, peers, from);
  put_back(merged, from, until);
  merged_until_ = until;
}

void History::put_back(const View& merged, std::int64_t from, std::int64_t until) {
  /// The number of a step that is put back.
  const auto number_of = [&](std::size_t i) -> std::optional<std::int64_t> {
    const std::int64_t end = merged.end - static_cast<std::int64_t>(merged.steps - 1 - i) * merged.step;
    if (end <= from || end > until) return std::nullopt;
    return end / merged.step - 1;
  };
  const auto put_fields = [&](Track* into, const Track& track) REQUIRES(mutex_) {
    for (std::size_t field = 0; into != nullptr && field < track.fields.size(); ++field) {
      for (std::size_t i = 0; i < merged.steps; ++i) {
        if (const auto number = number_of(i)) day_.at(into->fields[field], *number) = track.fields[field][i];
      }
    }
  };
  for (const auto& [name, track] : merged.topics) put_fields(day_.topic(name), track);
  for (const auto& [name, track] : merged.handlers) {
    Track* const into = day_.handler(name);
    if (into == nullptr) continue;
    put_fields(into, track);
    for (std::size_t i = 0; i < merged.steps; ++i) {
      const auto number = number_of(i);
      if (!number) continue;
      for (auto& [error_class, values] : into->failures) day_.at(values, *number) = unknown;
      for (const auto& [error_class, values] : track.failures) {
        if (std::isnan(values[i]) || values[i] == 0) continue;
        float& value = day_.at(day_.failures(*into, error_class, values[i]), *number);
        value = over_instances(Kind::count, value, values[i]);
      }
    }
  }
}

void History::note(Mark mark) {
  const base::Lock lock{mutex_};
  mark.text = base::shorten(mark.text, max_mark_bytes);
  if (marks_.size() == max_marks) marks_.pop_front();
  marks_.push_back(std::move(mark));
}

std::vector<Mark> History::marks() const {
  const base::Lock lock{mutex_};
  return {marks_.begin(), marks_.end()};
}

std::size_t History::bytes() const {
  const base::Lock lock{mutex_};
  std::size_t out = sizeof *this + hour_.bytes() + day_.bytes();
  for (const auto& [name, ends] : ends_) out += sizeof ends + ends.size() * sizeof(Ends::value_type);
  for (const Mark& mark : marks_) out += sizeof mark + mark.kind.size() + mark.text.size();
  if (!last_) return out;
  constexpr std::size_t node = 4 * sizeof(void*);
  for (const auto& [name, handler] : last_->sample.handlers) {
    out += node + sizeof name + sizeof handler + handler.calls.counts.size() * 16;
    for (const auto& [error_class, count] : handler.failures) out += node + sizeof error_class + error_class.capacity();
  }
  return out;
}

}  // namespace inboxd::history
