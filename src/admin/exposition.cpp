#include "admin/exposition.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/text.hpp"

namespace inboxd::admin {
namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

std::string_view name_of(Metric::Kind kind) {
  switch (kind) {
    case Metric::Kind::counter:
      return "counter";
    case Metric::Kind::gauge:
      return "gauge";
    case Metric::Kind::histogram:
      return "histogram";
  }
  return "untyped";
}

}  // namespace

void Exposition::begin(const Metric& metric) {
  metric_ = &metric;
  text_.append("# HELP ").append(metric.name).append(" ").append(metric.help);
  text_.append("\n# TYPE ").append(metric.name).append(" ").append(name_of(metric.kind)).append("\n");
}

void Exposition::add(const Values& values, double value) { add_text(values, number_text(value)); }
void Exposition::add(const Values& values, std::uint64_t value) { add_text(values, std::to_string(value)); }

void Exposition::add(const Values& values, const base::Histogram::Snapshot& histogram) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    sum += histogram.counts[i];
    const bool is_last = i == histogram.bounds.size();
    line("_bucket", values, is_last ? "+Inf" : number_text(histogram.bounds[i]), std::to_string(sum));
  }
  line("_sum", values, "", number_text(histogram.sum));
  line("_count", values, "", std::to_string(sum));
}

void Exposition::add_text(const Values& values, std::string_view value) { line("", values, "", value); }

void Exposition::line(std::string_view suffix, const Values& values, std::string_view bound, std::string_view value) {
  if (metric_ == nullptr || values.size() != metric_->labels.size()) {
    throw std::logic_error{"metric " + (metric_ == nullptr ? "" : metric_->name) + " with other labels than it names"};
  }
  text_.append(metric_->name).append(suffix);
  char before = '{';
  const auto label = [&](std::string_view name, std::string_view its_value) {
    text_ += before;
    text_.append(name).append("=\"");
    append_escaped(text_, its_value);
    text_ += '"';
    before = ',';
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Names come from outside: a name that is not UTF-8 would make the whole document invalid.
    if (base::is_utf8(values[i]))
      label(metric_->labels[i], values[i]);
    else
      label(metric_->labels[i], base::escape_controls(values[i]));
  }
  if (!bound.empty()) label("le", bound);
  if (before == ',') text_ += '}';
  text_.append(" ").append(value).append("\n");
}

}  // namespace inboxd::admin
