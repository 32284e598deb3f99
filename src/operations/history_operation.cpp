#include <algorithm>
#include <cmath>
#include <iterator>

#include "event/now.hpp"
#include "inbox/answer.hpp"
#include "operations/documents.hpp"
#include "operations/history_queries.hpp"
#include "operations/operation_table.hpp"
#include "operations/running_daemon.hpp"

namespace inboxd::operations {
namespace {

using history::Track;
using history::Values;

constexpr event::Microseconds us_per_second = 1'000'000;

/// Three digits after the point are enough to draw.
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

Document instance_of(const base::Uuid& instance_id, const std::string& host, event::Microseconds since,
                     const char* merged) {
  return {{"instance", instance_id.text()}, {"host", host}, {"since", time_of(since)}, {"merged", merged}};
}

Values crashes_of(const history::View& view, const std::vector<history::Mark>& marks) {
  Values out(view.steps, 0);
  for (const history::Mark& mark : marks) {
    const std::int64_t ago = (view.end * us_per_second - mark.at_us) / (view.step * us_per_second);
    const bool is_within = mark.at_us < view.end * us_per_second && ago < static_cast<std::int64_t>(view.steps);
    if (mark.kind == "crash" && is_within) out[view.steps - 1 - static_cast<std::size_t>(ago)] += 1;
  }
  return out;
}

Document marks_of(std::vector<history::Mark> marks) {
  std::stable_sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.at_us < b.at_us; });
  if (marks.size() > max_marks) marks.erase(marks.begin(), marks.end() - max_marks);
  Document out = Document::array();
  for (const history::Mark& mark : marks) {
    out.push_back({{"at", time_of(mark.at_us)}, {"kind", mark.kind}, {"text", mark.text}, {"who", text_of(mark.who)}});
  }
  return out;
}

}  // namespace

/// Without the database the answer has what this process knows.
Answer functions::history_show(Context& context, const Arguments& arguments) {
  const std::string span = arguments.text("span").value_or("1h");
  if (span != "1h" && span != "24h") return {base::ExitCode::usage, nullptr, "history: span is 1h or 24h"};
  const event::Microseconds now = event::now();
  history::View view = context.daemon->history(span == "1h" ? history::Span::hour : history::Span::day);
  const std::int64_t seconds = view.step * static_cast<std::int64_t>(view.steps);
  const auto own = context.daemon->identity();
  auto marks = context.daemon->marks();
  std::erase_if(marks, [&](const auto& mark) { return mark.at_us < now - seconds * us_per_second; });

  Document instances = Document::array();
  instances.push_back(instance_of(own.instance_id, own.host, own.started_at, "memory"));
  Values crashes(view.steps, history::unknown);
  const auto failure = inbox::database_failure_of([&] {
    const auto written = read_histories(*context.connection, own.instance_id);
    auto known = read_marks(*context.connection, seconds, context.shows_content);
    std::vector<history::Peer> peers;
    for (const auto& each : written) {
      instances.push_back(instance_of(each.instance_id, each.host, each.started_at, "heartbeat"));
      peers.push_back(each.peer);
    }
    merge(view, peers, view.merged_until);
    if (view.end > 0) crashes = crashes_of(view, known);
    std::move(known.begin(), known.end(), std::back_inserter(marks));
  });

  Document document{{"now", time_of(now)},
                    {"end", view.end > 0 ? time_of(view.end * us_per_second) : Document(nullptr)},
                    {"step_s", view.step},
                    {"steps", view.steps},
                    {"instances", std::move(instances)},
                    {"topics", Document::object()},
                    {"handlers", Document::object()}};
  for (const auto& [name, track] : view.topics) document["topics"][name] = fields_of(track, history::topic_fields);
  for (const auto& [name, track] : view.handlers) {
    Document& handler = document["handlers"][name] = fields_of(track, history::handler_fields);
    handler["allowed"] = track.allowed;
    handler["failures"] = failures_of(track);
  }
  document["crashes"] = numbers_of(crashes);
  document["marks"] = marks_of(std::move(marks));
  const std::string message = failure ? "the database does not answer: of this instance only" : "";
  return {base::ExitCode::done, std::move(document), message};
}

}  // namespace inboxd::operations
