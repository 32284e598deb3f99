#include "history/merge.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "history/ring.hpp"

namespace inboxd::history {
namespace {

bool is_known(float value) { return !std::isnan(value); }

/// A value of each instance for the steps [begin, end), within which it must be known.
struct Part {
  Values values;
  std::size_t begin = 0;
  std::size_t end = 0;
};

Part part_of(Values values) {
  const auto first = std::find_if(values.begin(), values.end(), is_known);
  const auto last = std::find_if(values.rbegin(), values.rend(), is_known);
  const auto begin = static_cast<std::size_t>(first - values.begin());
  const auto end = static_cast<std::size_t>(values.rend() - last);
  return {std::move(values), begin, end};
}

/// The minutes as steps of `to`.
Values aligned(const View& to, const View& minutes, const Values& values, Kind kind) {
  Values out(to.steps, unknown);
  const std::int64_t begin = minutes.end - static_cast<std::int64_t>(minutes.steps) * minutes.step;
  for (std::size_t i = 0; i < to.steps; ++i) {
    const std::int64_t end = to.end - static_cast<std::int64_t>(to.steps - 1 - i) * to.step;
    Values within;
    for (std::int64_t at = end - to.step; at < end; at += minutes.step) {
      if (at < begin || at >= minutes.end) continue;
      within.push_back(values[static_cast<std::size_t>((at - begin) / minutes.step)]);
    }
    out[i] = over_time(kind, within);
    if (kind == Kind::count && to.step < minutes.step) {
      out[i] *= static_cast<float>(to.step) / static_cast<float>(minutes.step);
    }
  }
  return out;
}

Part part_of(const View& to, const Peer& peer, const Values& values, Kind kind) {
  Part out = part_of(aligned(to, peer.minutes, values, kind));
  const bool had_ended = values.empty() || !is_known(values.back());  // before its last minute
  if (out.end == 0 || had_ended) return out;
  out.end = to.steps;
  if (!peer.is_live && to.end > peer.last_seen) {
    const auto after = static_cast<std::size_t>((to.end - peer.last_seen) / to.step);
    out.end = to.steps - std::min(after, to.steps);
  }
  return out;
}

bool is_sum(Kind kind) { return kind == Kind::rate || kind == Kind::count || kind == Kind::part; }

float combined(Kind kind, const std::vector<Part>& parts, std::size_t step) {
  float out = unknown;
  for (const Part& part : parts) {
    const float value = part.values[step];
    if (is_sum(kind) && !is_known(value) && step >= part.begin && step < part.end) return unknown;
    out = over_instances(kind, out, value);
  }
  return out;
}

void add_failures(const View& to, Track& into, const Track& from, const Peer& peer, std::size_t first) {
  for (const auto& [error_class, values] : from.failures) {
    Values& sum = into.failures.try_emplace(error_class, Values(to.steps, unknown)).first->second;
    const Values more = aligned(to, peer.minutes, values, Kind::count);
    for (std::size_t i = first; i < to.steps; ++i) sum[i] = over_instances(Kind::count, sum[i], more[i]);
  }
}

template <class Fields>
void merge(const View& to, Tracks& into, Tracks View::*kind, const std::vector<Peer>& peers, std::size_t first,
           const Fields& fields) {
  std::set<std::string> names;
  for (const Peer& peer : peers) {
    for (const auto& [name, track] : peer.minutes.*kind) names.insert(name);
  }
  for (const std::string& name : names) {
    if (into.size() >= Ring::max_names && !into.contains(name)) continue;
    Track& track = into[name];
    track.fields.resize(fields.size(), Values(to.steps, unknown));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      std::vector<Part> parts{part_of(track.fields[i])};
      for (const Peer& peer : peers) {
        const auto found = (peer.minutes.*kind).find(name);
        if (found == (peer.minutes.*kind).end()) continue;
        parts.push_back(part_of(to, peer, found->second.fields[i], fields[i].kind));
      }
      for (std::size_t step = first; step < to.steps; ++step) {
        track.fields[i][step] = combined(fields[i].kind, parts, step);
      }
    }
    for (const Peer& peer : peers) {
      const auto found = (peer.minutes.*kind).find(name);
      if (found == (peer.minutes.*kind).end()) continue;
      if (peer.is_live) track.allowed += found->second.allowed;
      add_failures(to, track, found->second, peer, first);
    }
  }
}

}  // namespace

void merge(View& into, const std::vector<Peer>& peers, std::int64_t from) {
  if (into.end == 0) return;
  const View frame{into.step, into.end, into.steps, {}, {}, 0};
  const std::int64_t begin = into.end - static_cast<std::int64_t>(into.steps) * into.step;
  const auto first = from <= begin ? 0 : static_cast<std::size_t>((from - begin) / into.step);
  merge(frame, into.topics, &View::topics, peers, first, topic_fields);
  merge(frame, into.handlers, &View::handlers, peers, first, handler_fields);
}

}  // namespace inboxd::history
