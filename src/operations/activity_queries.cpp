#include "operations/activity_queries.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "inbox/connection_access.hpp"
#include "operations/status_queries.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using inbox::HandlerActivity;

std::optional<HandlerActivity::Age> age_at(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end() || !found->is_number()) return std::nullopt;
  return HandlerActivity::Age{found->get<std::int64_t>()};
}

HandlerActivity parsed(const nlohmann::json& from) {
  const auto number = [&](const char* name) { return from.value(name, std::int64_t{0}); };
  HandlerActivity out;
  out.handler_id = from.at("handler_id").get<std::int32_t>();
  out.running_calls = number("running_calls");
  out.concurrency = number("concurrency");
  out.in_memory = number("in_memory");
  out.blocked_keys = number("blocked_keys");
  out.limited = from.value("limited", false);
  out.span = HandlerActivity::Age{number("span_ms")};
  out.done = number("done");
  out.failed = number("failed");
  out.call_seconds = from.value("call_seconds", 0.0);
  out.grown = number("grown");
  out.failed_in_row = number("failed_in_row");
  out.failing_for = age_at(from, "failing_for_ms");
  out.last_error_class = from.value("last_error_class", "");
  out.last_failed_event = from.value("last_failed_event", "");
  out.away_for = age_at(from, "away_for_ms");
  out.away_error = from.value("away_error", "");
  out.unkeyed = number("unkeyed");
  out.without_value = number("without_value");
  out.body_paths = from.value("body_paths", "");
  return out;
}

void take_earlier(std::optional<event::Microseconds>& time, const std::optional<HandlerActivity::Age>& age,
                  event::Microseconds said_at) {
  if (!age) return;
  const event::Microseconds since = said_at - 1'000 * age->count();
  time = std::min(time.value_or(since), since);
}

}  // namespace

void ActivityState::add(const HandlerActivity& instance, event::Microseconds said_at) {
  // Another instance succeeds while this instance fails: not all calls fail.
  const bool one_succeeds = (sum.done > 0 && sum.failed_in_row == 0 && sum.span.count() > 0) ||
                            (instance.done > 0 && instance.failed_in_row == 0);
  sum.handler_id = instance.handler_id;
  sum.running_calls += instance.running_calls;
  sum.concurrency += instance.concurrency;
  sum.in_memory += instance.in_memory;
  sum.blocked_keys += instance.blocked_keys;
  sum.limited = sum.limited || instance.limited;
  sum.span = std::max(sum.span, instance.span);
  sum.done += instance.done;
  sum.failed += instance.failed;
  sum.call_seconds = std::max(sum.call_seconds, instance.call_seconds);
  sum.grown = std::max(sum.grown, instance.grown);  // each counts the whole
  sum.failed_in_row = one_succeeds ? 0 : sum.failed_in_row + instance.failed_in_row;
  sum.unkeyed += instance.unkeyed;
  if (instance.without_value > sum.without_value) {
    sum.without_value = instance.without_value;
    sum.body_paths = instance.body_paths;
  }
  take_earlier(failing_since, instance.failing_for, said_at);
  if (!instance.last_error_class.empty()) {
    sum.last_error_class = instance.last_error_class;
    sum.last_failed_event = instance.last_failed_event;
  }
  take_earlier(away_since, instance.away_for, said_at);
  if (instance.away_for) sum.away_error = instance.away_error;
}

std::vector<HandlerActivity> parse_activity(const std::string& json) {
  std::vector<HandlerActivity> out;
  try {
    for (const auto& each : nlohmann::json::parse(json)) out.push_back(parsed(each));
  } catch (const nlohmann::json::exception&) {
    out.clear();
  }
  return out;
}

const ActivityState* activity_of(const Activities& activities, std::int32_t handler_id) {
  const auto found = activities.find(handler_id);
  return found == activities.end() ? nullptr : &found->second;
}

Activities read_activities(inbox::Connection& connection) {
  Activities out;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_activity, pqxx::params{live_within.count()})) {
    inbox::RowReader row{found};
    const auto activity = parse_activity(row.text());
    const auto said_at = row.int8();
    for (const HandlerActivity& each : activity) out[each.handler_id].add(each, said_at);
  }
  return out;
}

}  // namespace inboxd::operations
