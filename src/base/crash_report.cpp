#include "base/crash_report.hpp"

#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/log_messages.hpp"

namespace inboxd::base {
namespace {

/// Enough for the handler of a signal, on every processor.
constexpr std::size_t signal_stack_size = 64 * 1024;
/// The most calls that a crash report names. On a plugin's own thread it may have been any of them.
constexpr int max_calls = 4;
constexpr std::size_t max_frames = 24;

// A signal handler has no argument of ours: these are the exception to "no globals".
std::array<std::atomic<const CrashMark*>, 4'096> marks;
std::atomic<LogFormat> line_format{LogFormat::text};
std::atomic<const LogMessage*> message{nullptr};
std::atomic<std::uintptr_t> program_begin{0};  ///< the address of the program in memory
std::atomic<std::uintptr_t> program_end{0};

std::string_view name_of_signal(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGABRT: return "SIGABRT";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    default: return "SIGILL";
  }
}

void add_padded(CrashLine& line, std::int64_t number, std::int64_t least) {
  for (; number < least && least > 1; least /= 10) line.add("0");
  line.add(number);
}

/// `2026-11-26T14:15:03.123Z`: gmtime_r may take a lock.
void add_time(CrashLine& line) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t days = now.tv_sec / 86'400;
  const std::int64_t second = now.tv_sec % 86'400;
  // Days to a date, by eras of 400 years that begin in March.
  const std::int64_t of_era = (days + 719'468) % 146'097;
  const std::int64_t era = (days + 719'468) / 146'097;
  const std::int64_t year_of_era = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t march_month = (5 * of_year + 2) / 153;
  const std::int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  line.add(year_of_era + era * 400 + (month <= 2 ? 1 : 0));
  line.add("-");
  add_padded(line, month, 10);
  line.add("-");
  add_padded(line, of_year - (153 * march_month + 2) / 5 + 1, 10);
  line.add("T");
  add_padded(line, second / 3'600, 10);
  line.add(":");
  add_padded(line, second / 60 % 60, 10);
  line.add(":");
  add_padded(line, second % 60, 10);
  line.add(".");
  add_padded(line, now.tv_nsec / 1'000'000, 100);
  line.add("Z");
}

void begin_line(CrashLine& line, std::string_view text) {
  switch (line.format()) {
    case LogFormat::text:
      add_time(line);
      line.add(" error ");
      line.add(text);
      break;
    case LogFormat::json:
      line.add("{\"time\":\"");
      add_time(line);
      line.add("\",\"level\":\"error\",\"message\":\"");
      line.add(text);
      line.add("\"");
      break;
    case LogFormat::journal:
      line.add("<3>");
      line.add(text);
      break;
  }
}

void write_line(CrashLine& line) {
  line.fact("kind", "daemon.crashed");
  line.add(line.format() == LogFormat::json ? "}\n" : "\n");
  const auto text = line.text();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

/// The signal handler.
class CrashReport final {
 public:
  static void write(int signal, siginfo_t*, void*) {
    const int calls = describe_calls(signal, pthread_self(), true);
    if (calls == 0) {
      // First: the calls of other threads change while they are described.
      CrashLine line = line_about(signal);
      add_frames(line);
      write_line(line);
      describe_calls(signal, pthread_self(), false);
    }
    // Pending until this handler returns, and then with its default effect: the core file shows the place of the crash.
    raise(signal);
  }

 private:
  static CrashLine line_about(int signal) {
    const LogMessage* const row = message.load();
    CrashLine line{line_format.load()};
    begin_line(line, row == nullptr ? std::string_view{"crashed"} : row->text);
    line.fact("signal", name_of_signal(signal));
    return line;
  }

  /// The stack: for `addr2line -e inboxd`, places in the program; in a library: its address.
  static void add_frames(CrashLine& line) {
    std::array<void*, max_frames> found;
    const int number = backtrace(found.data(), static_cast<int>(found.size()));
    const std::uintptr_t begin = program_begin, end = program_end;
    std::array<char, max_frames * 20> text;
    std::size_t size = 0;
    for (int i = 0; i < number; ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(found.at(static_cast<std::size_t>(i)));
      const bool is_ours = at >= begin && at < end;
      if (size > 0) text.at(size++) = ',';
      size = add_hex(text, size, is_ours ? at - begin : at);
    }
    line.fact("frames", {text.data(), size});
  }

  template <std::size_t Size>
  static std::size_t add_hex(std::array<char, Size>& text, std::size_t size, std::uintptr_t number) {
    text.at(size++) = '0';
    text.at(size++) = 'x';
    int shift = 60;
    while (shift > 0 && (number >> shift) == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) text.at(size++) = "0123456789abcdef"[number >> shift & 15];
    return size;
  }

  /// The calls of the crashed thread. If it is a plugin's own thread, or another thread of ours: all calls.
  static int describe_calls(int signal, pthread_t thread, bool of_thread) {
    int calls = 0;
    for (const auto& each : marks) {
      const CrashMark* const mark = each.load(std::memory_order_acquire);
      if (mark == nullptr || !mark->is_on_.load(std::memory_order_acquire)) continue;
      if (of_thread && pthread_equal(mark->thread_.load(), thread) == 0) continue;
      if (++calls > max_calls) break;
      CrashLine line = line_about(signal);
      mark->describe_(mark->subject_, line);
      if (!of_thread) line.fact("thread", "another");
      if (of_thread) add_frames(line);
      write_line(line);
    }
    return calls;
  }
};

void CrashLine::add(std::string_view text) {
  const std::size_t fits = std::min(text.size(), text_.size() - size_);
  std::memcpy(text_.data() + size_, text.data(), fits);
  size_ += fits;
}

void CrashLine::add(std::int64_t number) {
  std::array<char, 20> digits;
  std::size_t at = digits.size();
  const bool is_negative = number < 0;
  auto rest = is_negative ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  do digits.at(--at) = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (is_negative) add("-");
  add({digits.data() + at, digits.size() - at});
}

void CrashLine::fact(std::string_view name, std::string_view value) {
  const bool is_json = format_ == LogFormat::json;
  add(is_json ? ",\"" : " ");
  add(name);
  add(is_json ? "\":\"" : "=");
  add(value);
  if (is_json) add("\"");
}

void CrashLine::fact(std::string_view name, std::int64_t value) {
  const bool is_json = format_ == LogFormat::json;
  add(is_json ? ",\"" : " ");
  add(name);
  add(is_json ? "\":" : "=");
  add(value);
}

void CrashLine::fact(std::string_view name, const Uuid& id) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::array<char, 36> text;
  std::size_t at = 0;
  for (const std::uint8_t byte : id.bytes) {
    if (at == 8 || at == 13 || at == 18 || at == 23) text.at(at++) = '-';
    text.at(at++) = digits[byte >> 4];
    text.at(at++) = digits[byte & 15];
  }
  fact(name, {text.data(), text.size()});
}

/// Beyond the table's size, a call is not named.
CrashMark::CrashMark(Describe describe, const void* subject) : describe_{describe}, subject_{subject} {
  for (auto& each : marks) {
    const CrashMark* free = nullptr;
    if (each.compare_exchange_strong(free, this)) return;
  }
}

CrashMark::~CrashMark() {
  for (auto& each : marks) {
    const CrashMark* mine = this;
    if (each.compare_exchange_strong(mine, nullptr)) return;
  }
}

SignalStack::SignalStack() : memory_{new char[signal_stack_size]} {
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = signal_stack_size;
  sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

void report_crashes(LogFormat format) {
  std::array<void*, 1> none;
  static_cast<void>(backtrace(none.data(), 1));  // loads what it needs, which allocates
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void*) {
        program_begin = program->dlpi_addr;
        for (int i = 0; i < program->dlpi_phnum; ++i) {
          const auto& part = program->dlpi_phdr[i];
          if (part.p_type == PT_LOAD) program_end = program->dlpi_addr + part.p_vaddr + part.p_memsz;
        }
        return 1;  // the first is the program
      },
      nullptr);
  line_format = format;
  message = find_log_message("daemon.crashed");
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) continue;  // a sanitizer's, or ours
    struct sigaction action{};
    action.sa_sigaction = CrashReport::write;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace inboxd::base
