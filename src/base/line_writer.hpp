#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace inboxd::base {

/// Writes lines to a descriptor. While its reader keeps up, the caller writes, so that a crash loses no line. Otherwise
/// lines wait for a thread of this object, up to 256 KiB; further lines are dropped and counted. So a pipe without a
/// reader delays no caller, unless another process fills the pipe at the same moment. Any thread.
class LineWriter final {
 public:
  explicit LineWriter(int descriptor);
  /// Writes the waiting lines, for at most a second.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// `line`: with its newline. False: it was dropped.
  bool write(std::string_view line);
  /// Waits until all lines are written; false: the time is over.
  bool flush(std::chrono::milliseconds most);
  /// Lines dropped since the start.
  std::uint64_t lost() const;

 private:
  struct Shared;  ///< shared with the thread, which may outlive this object

  const std::shared_ptr<Shared> shared_;
};

}  // namespace inboxd::base
