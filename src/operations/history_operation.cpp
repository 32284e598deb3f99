#include <cmath>

#include "event/now.hpp"
#include "operations/documents.hpp"
#include "operations/operation_table.hpp"
#include "operations/running_daemon.hpp"

namespace inboxd::operations {
namespace {

using history::Track;
using history::Values;

constexpr event::Microseconds us_per_second = 1'000'000;

/// Three digits are enough to draw.
Document number_of(float value) {
  if (std::isnan(value)) return nullptr;
  const double exact = value;
  if (exact == std::floor(exact) || exact >= 1'000) return static_cast<std::int64_t>(std::llround(exact));
  return std::round(exact * 1'000) / 1'000;
}

Document numbers_of(const Values& values) {
  Document out = Document::array();
  for (const float value : values) out.push_back(number_of(value));
  return out;
}

template <class Fields>
Document fields_of(const Track& track, const Fields& fields) {
  Document out = Document::object();
  for (std::size_t i = 0; i < fields.size(); ++i) out[fields[i].name] = numbers_of(track.fields[i]);
  return out;
}

Document failures_of(const Track& track) {
  Document out = Document::object();
  const Values& known = track.fields[history::failed];
  for (const auto& [error_class, values] : track.failures) {
    Values counts = values;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (std::isnan(counts[i]) && !std::isnan(known[i])) counts[i] = 0;  // a class is kept from its first failure on
    }
    out[error_class] = numbers_of(counts);
  }
  return out;
}

}  // namespace

Answer functions::history_show(Context& context, const Arguments& arguments) {
  const std::string span = arguments.text("span").value_or("1h");
  if (span != "1h" && span != "24h") return {base::ExitCode::usage, nullptr, "history: span is 1h or 24h"};
  const event::Microseconds now = event::now();
  history::View view = context.daemon->history(span == "1h" ? history::Span::hour : history::Span::day);
  const auto own = context.daemon->identity();
  Document document{{"now", time_of(now)},
                    {"end", view.end > 0 ? time_of(view.end * us_per_second) : Document(nullptr)},
                    {"step_s", view.step},
                    {"steps", view.steps},
                    {"instances", Document::array({{{"instance", own.instance_id.text()},
                                                    {"host", own.host},
                                                    {"since", time_of(own.started_at)},
                                                    {"merged", "memory"}}})},
                    {"topics", Document::object()},
                    {"handlers", Document::object()}};
  for (const auto& [name, track] : view.topics) document["topics"][name] = fields_of(track, history::topic_fields);
  for (const auto& [name, track] : view.handlers) {
    Document& handler = document["handlers"][name] = fields_of(track, history::handler_fields);
    handler["allowed"] = track.allowed;
    handler["failures"] = failures_of(track);
  }
  return {base::ExitCode::done, std::move(document), ""};
}

}  // namespace inboxd::operations
