#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.hpp"

namespace inboxd::admin {

/// A metric. Labels are bounded: topics, partitions, handlers, states, never ids or keys.
struct Metric {
  enum class Kind { counter, gauge, histogram };
  std::string name;
  Kind kind = Kind::counter;
  std::string help;  ///< a sentence
  std::vector<std::string> labels = {};
};

/// Writes Prometheus's text format, metric by metric. Label values are in the order of the metric's labels.
class Exposition final {
 public:
  using Values = std::vector<std::string_view>;

  /// Starts a metric; the following add() calls belong to it.
  void begin(const Metric& metric);
  void add(const Values& values, double value);
  void add(const Values& values, std::uint64_t value);
  void add(const Values& values, std::int64_t value) { add_text(values, std::to_string(value)); }
  void add(const Values& values, const base::Histogram::Snapshot& histogram);
  void add(double value) { add({}, value); }
  void add(std::uint64_t value) { add({}, value); }
  void add(std::int64_t value) { add({}, value); }

  const std::string& text() const { return text_; }

 private:
  void add_text(const Values& values, std::string_view value);
  void line(std::string_view suffix, const Values& values, std::string_view bound, std::string_view value);

  const Metric* metric_ = nullptr;
  std::string text_;
};

}  // namespace inboxd::admin
