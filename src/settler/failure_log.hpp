#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/log.hpp"
#include "inbox/settle.hpp"
#include "settler/run.hpp"

namespace inboxd::settler {

/// Tells the log of each event that died (a warning) or is tried again (debug), by its id, its place and its handler,
/// so that whoever has one of them finds the others. So many lines a second at most, the dead first; what had no place
/// among them is told as a number later. Never a handler's message: that may repeat a payload. Any thread.
class FailureLog final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t most_lines = 20;  ///< a second, of each of the two

  explicit FailureLog(base::Logger& log) : log_{log} {}

  /// A settlement of the run was recorded.
  void recorded(const Run& run, const inbox::Settlement& settlement, Clock::time_point now);

 private:
  /// Lines of one kind within the second that runs.
  struct Second {
    std::uint64_t lines = 0;
    std::uint64_t left_out = 0;
    /// Whether there is place for one more; counts it if not.
    bool take();
  };
  void begin_second(Clock::time_point now);

  base::Logger& log_;

  std::mutex mutex_;  // guards the following
  Clock::time_point since_{};
  Second dead_, retried_;
};

}  // namespace inboxd::settler
