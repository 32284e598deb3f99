#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace inboxd::base {

/// Counts values by bucket. Any thread observes and reads, without locks. A thread that observes very often collects a
/// Tally and adds it from time to time.
class Histogram final {
 public:
  static constexpr std::size_t max_bounds = 16;

  /// Ascending, at most `max_bounds`. Values above the last bound are counted, too.
  explicit Histogram(std::initializer_list<double> bounds) : bounds_{bounds} {}
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  void observe(double value, std::uint64_t times = 1) {
    counts_[place_of(value)].fetch_add(times, std::memory_order_relaxed);
    sum_.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
  }

  /// A thread's observations that are not added yet.
  struct Tally {
    std::array<std::uint32_t, max_bounds + 1> counts{};
    double sum = 0;
    bool empty = true;
  };
  void observe(double value, Tally& tally) const {
    ++tally.counts[place_of(value)];
    tally.sum += value;
    tally.empty = false;
  }
  /// Adds a tally and empties it.
  void add(Tally& tally) {
    if (tally.empty) return;
    for (std::size_t i = 0; i < tally.counts.size(); ++i) {
      if (tally.counts[i] > 0) counts_[i].fetch_add(tally.counts[i], std::memory_order_relaxed);
    }
    sum_.fetch_add(tally.sum, std::memory_order_relaxed);
    tally = {};
  }

  struct Snapshot {
    std::vector<double> bounds;
    std::vector<std::uint64_t> counts;  ///< `bounds.size() + 1` counts; each bucket excludes the smaller buckets
    double sum = 0;
    std::uint64_t count() const {
      std::uint64_t out = 0;
      for (const std::uint64_t one : counts) out += one;
      return out;
    }
  };
  Snapshot snapshot() const {
    Snapshot out{bounds_, {}, sum_.load(std::memory_order_relaxed)};
    for (std::size_t i = 0; i <= bounds_.size(); ++i) out.counts.push_back(counts_[i].load(std::memory_order_relaxed));
    return out;
  }

 private:
  std::size_t place_of(double value) const {
    std::size_t place = 0;
    while (place < bounds_.size() && value > bounds_[place]) ++place;
    return place;
  }

  std::vector<double> bounds_;
  std::array<std::atomic<std::uint64_t>, max_bounds + 1> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace inboxd::base
