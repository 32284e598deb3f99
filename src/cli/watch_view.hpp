#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "cli/terminal_text.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// Rates of the watched topics: from the positions of successive statuses.
class WatchedRates final {
 public:
  /// `now`: of a clock that only goes forward.
  void add(const operations::Document& status, std::chrono::milliseconds now);
  /// Records a second by topic, the latest last; at most 40.
  const std::map<std::string, std::deque<double>>& by_topic() const { return rates_; }

 private:
  std::map<std::string, std::int64_t> positions_;
  std::map<std::string, std::deque<double>> rates_;
  std::chrono::milliseconds last_{0};
};

/// `▁▂▃█`: a character for each value, of the largest of them; a space for NaN.
std::string spark_text(const std::deque<double>& values);

/// A screen of `status --watch`: lines, some of which can be opened.
struct WatchScreen {
  struct Line {
    std::string text;
    std::string opens;  ///< the handler or event behind it; empty: nothing
  };
  std::vector<Line> lines;
};

/// Findings, topics, handlers and daemons. `history`: of `history`, or null.
WatchScreen overview_screen(const operations::Document& status, const operations::Document& history,
                            const WatchedRates& rates, const Look& look);
/// The failing events of a handler: of `dead list` and `events failures`, or objects without rows.
WatchScreen handler_screen(const operations::Document& dead, const operations::Document& failures, const Look& look);
/// A text, line by line.
WatchScreen text_screen(const std::string& text);

/// The lines that fit, with the selected one marked. `selected` counts the lines that can be opened; without any it is
/// the first line shown.
std::string framed(const WatchScreen& screen, std::size_t selected, const std::string& title, const std::string& foot,
                   Terminal::Size size, const Look& look);

}  // namespace inboxd::cli
