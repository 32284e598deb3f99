#pragma once
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/logger.hpp"
#include "base/uuid.hpp"

/// The line of a process that ends by SIGSEGV, SIGABRT, SIGBUS, SIGFPE or SIGILL: the signal, and the calls during
/// which it came. Written by the signal handler, which allocates nothing and takes no lock. Then the signal has its
/// usual effect, such as a core file.
namespace inboxd::base {

/// A log line that is composed in a signal handler. Text beyond its size is cut off.
class CrashLine final {
 public:
  explicit CrashLine(LogFormat format) : format_{format} {}

  void add(std::string_view text);
  void add(std::int64_t number);
  /// ` name=value`, or the same in JSON. Values need no quotes: names of topics and handlers, ids.
  void fact(std::string_view name, std::string_view value);
  void fact(std::string_view name, std::int64_t value);
  void fact(std::string_view name, const Uuid& id);

  LogFormat format() const { return format_; }
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  LogFormat format_;
  std::array<char, 1024> text_;  // not initialized: only its first bytes are read
  std::size_t size_ = 0;
};

/// A call in progress, known to the signal handler. `describe` adds facts about the subject to the line, in the signal
/// handler: without allocation and locks. It is called between `begin` and `end` only.
class CrashMark final {
 public:
  using Describe = void (*)(const void* subject, CrashLine& line);

  CrashMark(Describe describe, const void* subject);
  ~CrashMark();
  CrashMark(const CrashMark&) = delete;
  CrashMark& operator=(const CrashMark&) = delete;

  /// By the calling thread.
  void begin() {
    thread_ = pthread_self();
    is_on_.store(true, std::memory_order_release);
  }
  void end() { is_on_.store(false, std::memory_order_release); }

 private:
  friend class CrashReport;
  const Describe describe_;
  const void* const subject_;
  std::atomic<pthread_t> thread_{};
  std::atomic<bool> is_on_{false};
};

/// The calling thread's stack for signal handlers: the usual stack may be exhausted.
class SignalStack final {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

/// Installs the signal handler, where the signal still has its default effect. Repeat it if the format changes.
void report_crashes(LogFormat format);

}  // namespace inboxd::base
