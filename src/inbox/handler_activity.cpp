#include "inbox/handler_activity.hpp"

#include "base/text.hpp"

namespace inboxd::inbox {
namespace {

constexpr std::size_t max_text_bytes = 300;

void field(std::string& out, std::string_view name, const std::string& value) {
  out += out.back() == '{' ? "\"" : ", \"";
  out.append(name).append("\": ").append(value);
}

/// jsonb refuses NUL, which stays escaped twice here.
std::string short_text(const std::string& text) {
  return base::json_quote(base::shorten(base::escape_controls(text), max_text_bytes));
}

std::string age_text(const std::optional<HandlerActivity::Age>& age) {
  return age ? std::to_string(age->count()) : "null";
}

}  // namespace

std::string json_of(const std::vector<HandlerActivity>& activity) {
  std::string out = "[";
  for (const HandlerActivity& each : activity) {
    std::string object = "{";
    field(object, "handler_id", std::to_string(each.handler_id));
    field(object, "running_calls", std::to_string(each.running_calls));
    field(object, "concurrency", std::to_string(each.concurrency));
    field(object, "in_memory", std::to_string(each.in_memory));
    field(object, "blocked_keys", std::to_string(each.blocked_keys));
    field(object, "limited", each.limited ? "true" : "false");
    field(object, "span_ms", std::to_string(each.span.count()));
    field(object, "done", std::to_string(each.done));
    field(object, "failed", std::to_string(each.failed));
    field(object, "call_seconds", std::to_string(each.call_seconds));
    field(object, "grown", std::to_string(each.grown));
    field(object, "failed_in_row", std::to_string(each.failed_in_row));
    field(object, "failing_for_ms", age_text(each.failing_for));
    field(object, "last_error_class", short_text(each.last_error_class));
    field(object, "last_failed_event", short_text(each.last_failed_event));
    field(object, "away_for_ms", age_text(each.away_for));
    field(object, "away_error", short_text(each.away_error));
    field(object, "unkeyed", std::to_string(each.unkeyed));
    field(object, "without_value", std::to_string(each.without_value));
    field(object, "body_paths", short_text(each.body_paths));
    out += (out.size() > 1 ? ", " : "") + object + "}";
  }
  return out + "]";
}

}  // namespace inboxd::inbox
