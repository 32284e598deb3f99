#pragma once
#include <algorithm>
#include <chrono>
#include <ostream>
#include <string>

#include "cli/session.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {

/// `worked through 1,200 of 10,000 ▕███░░░░░░░▏ 340/s, 26 s left`; the bar on a terminal only. Pure.
inline std::string progress_text(const operations::Progress& progress, std::chrono::milliseconds since_begin,
                                 bool has_bar) {
  constexpr std::int64_t cells = 20;
  std::string out = one_line(progress.what) + " " + number_text(progress.done);
  if (progress.of <= 0) return out;
  out += " of " + number_text(progress.of);
  if (has_bar) {
    const std::int64_t full = std::min(cells, cells * progress.done / progress.of);
    out += " ▕";
    for (std::int64_t i = 0; i < cells; ++i) out += i < full ? "█" : "░";
    out += "▏";
  }
  const double seconds = static_cast<double>(since_begin.count()) / 1000;
  if (seconds < 2 || progress.done <= 0) return out;  // too early for a rate
  const double rate = static_cast<double>(progress.done) / seconds;
  out += " " + number_text(static_cast<std::int64_t>(rate)) + "/s";
  const auto left = static_cast<double>(progress.of - progress.done) / rate;
  return left > 0 ? out + ", " + age_text(left) + " left" : out;
}

/// Shows progress: on a single line of a terminal, else a line every ten seconds.
class ProgressLine final {
 public:
  explicit ProgressLine(const Output& output) : output_{output} {}
  ~ProgressLine() {
    if (is_open_) output_.messages << '\n' << std::flush;
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const operations::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_over = progress.done == progress.of;
    if (!output_.messages_are_seen && now < next_ && !is_over) return;
    next_ = now + interval;
    std::string line = progress_text(
        progress, std::chrono::duration_cast<std::chrono::milliseconds>(now - begin_), output_.messages_are_seen);
    if (output_.messages_are_seen) {
      output_.messages << '\r' << line << "\x1b[K" << std::flush;
      is_open_ = true;
    } else if (line != last_) {
      output_.messages << line << '\n' << std::flush;
    }
    last_ = std::move(line);
  }

 private:
  static constexpr std::chrono::seconds interval{10};

  const Output& output_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool is_open_ = false;
  std::string last_;  ///< line
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + interval;
};

}  // namespace inboxd::cli
