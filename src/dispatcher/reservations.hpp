#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>

namespace inboxd::dispatcher {

/// Room promised to ingest transactions that are under way, and until when at least what they bring is leased: from its
/// reservation at the earliest, for as long as was said then, whatever a reload has made of that since. An ingest
/// thread reserves, hands over and releases by itself, hence the thread is the key. Pure.
class Reservations {
 public:
  using Clock = std::chrono::steady_clock;

  void reserve(std::thread::id who, std::int64_t events, std::int64_t bytes, Clock::time_point lease_end);

  /// Ends that much of a reservation; returns until when what it brought is leased, nothing where nothing is reserved.
  /// A stranger's ends the one with the earliest end, which errs on the safe side. More than was reserved is cut off.
  std::optional<Clock::time_point> end(std::thread::id who, std::int64_t events);

  std::int64_t events() const { return events_; }
  /// In proportion to the events: what a run really holds is counted when it comes.
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Standing {
    std::int64_t events = 0;
    Clock::time_point lease_end;
  };
  std::map<std::thread::id, Standing> standing_;
  std::int64_t events_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace inboxd::dispatcher
