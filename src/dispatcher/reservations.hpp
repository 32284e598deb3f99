#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>

namespace inboxd::dispatcher {

/// Room promised to ingest transactions that are under way, and since when: a run is leased at the earliest when its
/// room was reserved. An ingest thread reserves, hands over and releases by itself, hence the thread is the key. Pure.
class Reservations {
 public:
  using Clock = std::chrono::steady_clock;

  void reserve(std::thread::id who, std::int64_t events, std::int64_t bytes, Clock::time_point now);

  /// Ends that much of a reservation; returns since when it stood. A stranger's ends the oldest, which errs on the safe
  /// side. More than was reserved is cut off.
  Clock::time_point end(std::thread::id who, std::int64_t events, Clock::time_point now);

  std::int64_t events() const { return events_; }
  /// In proportion to the events: what a run really holds is counted when it comes.
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Standing {
    std::int64_t events = 0;
    Clock::time_point since;
  };
  std::map<std::thread::id, Standing> standing_;
  std::int64_t events_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace inboxd::dispatcher
