#pragma once
#include <chrono>
#include <ostream>
#include <string>

#include "cli/session.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {

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
    std::string line = one_line(progress.what) + " " + number_text(progress.done);
    if (progress.of > 0) line += " of " + number_text(progress.of);
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
  bool is_open_ = false;
  std::string last_;  ///< line
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + interval;
};

}  // namespace inboxd::cli
