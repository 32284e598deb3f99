#include "event_line.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../shared/encoding.hpp"

namespace exec_handler {
namespace {

using handlers::base64;
using handlers::time_text;
using Json = nlohmann::ordered_json;

/// Linux refuses to start a program with a variable over 128 KiB.
constexpr std::size_t max_variable = 65'536;

/// As a JSON string with its quotes; nullopt: it is not UTF-8.
std::optional<std::string> quoted(std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    return std::nullopt;
  }
}

class Line {
 public:
  void raw(std::string_view name, std::string_view json) {
    text_.append(text_.empty() ? "{\"" : ", \"").append(name).append("\": ").append(json);
  }
  void text(const char* name, inboxd::MaybeText value) {
    if (!value) return raw(name, "null");
    if (const auto json = quoted(*value)) return raw(name, *json);
    raw(std::string{name} + "_base64", "\"" + base64(*value) + "\"");
  }
  void time(const char* name, std::optional<inboxd::Time> value) {
    raw(name, value ? "\"" + time_text(value->time_since_epoch()) + "\"" : "null");
  }
  std::string end() { return std::move(text_) + "}\n"; }

 private:
  std::string text_;
};

/// The last value of a name; `{"base64": …}` if it is not text.
std::string headers_of(const inboxd::Event& event) {
  Json out = Json::object();
  for (const inboxd::Header& header : event.headers()) {
    if (!quoted(header.name)) continue;
    Json& value = out[std::string{header.name}];
    if (!header.value) {
      value = nullptr;
    } else if (quoted(*header.value)) {
      value = *header.value;
    } else {
      value = {{"base64", base64(*header.value)}};
    }
  }
  return out.dump();
}

/// In JSON, an end of line is only between tokens.
std::string on_one_line(std::string_view json) {
  std::string out{json};
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return out;
}

}  // namespace

std::string line_of(const inboxd::Event& event, bool raw) {
  Line line;
  line.text("event_id", event.id());
  line.text("source_id", event.source_id());
  line.text("topic", event.topic());
  line.raw("partition", std::to_string(event.partition()));
  line.raw("offset", std::to_string(event.offset()));
  line.text("type", event.type());
  line.text("source", event.source());
  line.text("subject", event.subject());
  line.text("key", event.key());
  line.time("occurred_at", event.occurred_at());
  line.time("received_at", event.received_at());
  line.raw("attempt", std::to_string(event.attempt()));
  line.raw("headers", headers_of(event));
  const inboxd::MaybeText payload = event.payload();
  if (!payload) {
    line.raw("tombstone", "true");
    line.raw("body", "null");
  } else if (const inboxd::MaybeText body = raw ? std::nullopt : event.json()) {
    line.raw("body", on_one_line(*body));
  } else {
    line.raw("payload_base64", "\"" + base64(*payload) + "\"");
  }
  return line.end();
}

std::vector<std::string> variables_of(const inboxd::Event& event) {
  std::vector<std::string> out;
  const auto add = [&](const char* name, inboxd::MaybeText value) {
    if (value && value->size() <= max_variable && value->find('\0') == std::string_view::npos)
      out.push_back(name + ("=" + std::string{*value}));
  };
  add("INBOXD_EVENT_ID", event.id());
  add("INBOXD_SOURCE_ID", event.source_id());
  add("INBOXD_TOPIC", event.topic());
  add("INBOXD_PARTITION", std::to_string(event.partition()));
  add("INBOXD_OFFSET", std::to_string(event.offset()));
  add("INBOXD_TYPE", event.type());
  add("INBOXD_SOURCE", event.source());
  add("INBOXD_SUBJECT", event.subject());
  add("INBOXD_KEY", event.key());
  add("INBOXD_ATTEMPT", std::to_string(event.attempt()));
  if (!event.payload()) add("INBOXD_TOMBSTONE", "true");
  return out;
}

}  // namespace exec_handler
