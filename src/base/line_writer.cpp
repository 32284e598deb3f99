#include "base/line_writer.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::base {
namespace {

constexpr std::size_t max_waiting_bytes = 256 << 10;
/// A pipe that poll() calls writable takes this many bytes without blocking (PIPE_BUF).
constexpr std::size_t at_once = 4096;
constexpr int look_every_ms = 100;
constexpr std::chrono::milliseconds last_flush{1'000};

/// Writes a part of the text. 0: the descriptor takes nothing within that time; nullopt: it has no reader.
std::optional<std::size_t> write_part(int descriptor, std::string_view text, int patience_ms) {
  pollfd writable{descriptor, POLLOUT, 0};
  if (::poll(&writable, 1, patience_ms) <= 0) return 0;
  const ssize_t written = ::write(descriptor, text.data(), std::min(text.size(), at_once));
  if (written >= 0) return static_cast<std::size_t>(written);
  return errno == EINTR || errno == EAGAIN ? std::optional<std::size_t>{0} : std::nullopt;
}

/// A thread without signals: they are for the main thread.
class SignalsBlocked final {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct LineWriter::Shared {
  explicit Shared(int its_descriptor) : descriptor{its_descriptor} {}

  const int descriptor;
  Mutex mutex;
  Condition changed;
  std::string waiting GUARDED_BY(mutex);
  std::size_t lines GUARDED_BY(mutex) = 0;  ///< waiting lines, without the lines that the thread is writing
  bool is_writing GUARDED_BY(mutex) = false;
  bool has_thread GUARDED_BY(mutex) = false;
  bool stops GUARDED_BY(mutex) = false;
  std::uint64_t lost GUARDED_BY(mutex) = 0;

  void run() {
    Lock lock{mutex};
    for (;;) {
      changed.wait(lock, [&]() REQUIRES(mutex) { return stops || !waiting.empty(); });
      if (waiting.empty()) return;
      const std::string text = std::exchange(waiting, {});
      const std::size_t those = std::exchange(lines, 0);
      is_writing = true;
      lock.unlock();
      const bool is_written = write_all(text);
      lock.lock();
      is_writing = false;
      if (!is_written) lost += those;
      changed.notify_all();
    }
  }

  /// Detached: another writer may fill the pipe between poll() and write(), which then never returns.
  static bool start(const std::shared_ptr<Shared>& shared) REQUIRES(shared->mutex) {
    if (shared->has_thread) return true;
    const SignalsBlocked blocked;
    try {
      std::thread thread{[shared] { shared->run(); }};
      pthread_setname_np(thread.native_handle(), "log");
      thread.detach();
      shared->has_thread = true;
    } catch (const std::system_error&) {
      // The next line tries again; until then the lines wait.
    }
    return shared->has_thread;
  }

  /// Without the lock. False: a part is lost.
  bool write_all(std::string_view text) {
    while (!text.empty()) {
      const auto written = write_part(descriptor, text, look_every_ms);
      if (!written) return false;
      text.remove_prefix(*written);
      const Lock lock{mutex};
      if (*written == 0 && stops) return false;
    }
    return true;
  }
};

LineWriter::LineWriter(int descriptor) : shared_{std::make_shared<Shared>(descriptor)} {}

LineWriter::~LineWriter() {
  flush(last_flush);
  const Lock lock{shared_->mutex};
  shared_->stops = true;
  shared_->changed.notify_all();
}

bool LineWriter::write(std::string_view line) {
  const Lock lock{shared_->mutex};
  if (shared_->waiting.empty() && !shared_->is_writing) {
    const auto written = write_part(shared_->descriptor, line, 0);
    if (written == line.size()) return true;
    if (written) line.remove_prefix(*written);
  }
  if (shared_->waiting.size() + line.size() > max_waiting_bytes) {
    ++shared_->lost;
    return false;
  }
  shared_->waiting.append(line);
  ++shared_->lines;
  if (Shared::start(shared_)) shared_->changed.notify_all();
  return true;
}

bool LineWriter::flush(std::chrono::milliseconds most) {
  Lock lock{shared_->mutex};
  if (!shared_->has_thread && shared_->waiting.empty()) return true;
  return shared_->changed.wait_for(lock, most, [&]() REQUIRES(shared_->mutex) {
    return shared_->waiting.empty() && !shared_->is_writing;
  });
}

std::uint64_t LineWriter::lost() const {
  const Lock lock{shared_->mutex};
  return shared_->lost;
}

}  // namespace inboxd::base
