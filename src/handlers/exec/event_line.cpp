#include "event_line.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace exec_handler {
namespace {

using Json = nlohmann::ordered_json;

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

/// As a JSON string with its quotes; nullopt: it is not UTF-8.
std::optional<std::string> quoted(std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    return std::nullopt;
  }
}

std::string time_text(std::chrono::microseconds since_1970) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_1970);
  const std::time_t time = seconds.count();
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%06dZ", static_cast<int>((since_1970 - seconds).count()));
  return text;
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

std::optional<inboxd::Milliseconds> duration_of(const std::string& text) {
  long long number = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%9lld%n", &number, &used) != 1 || number < 0) return std::nullopt;
  const std::string unit = text.substr(static_cast<std::size_t>(used));
  const long long factor = unit == "ms" ? 1 : unit == "s" ? 1'000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
  if (factor == 0) return std::nullopt;
  return inboxd::Milliseconds{std::min<std::int64_t>(number * factor, INBOXD_MAX_DELAY_MS)};
}

std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string line_of(const inboxd::Event& event) {
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
  } else if (nlohmann::json::accept(*payload)) {
    line.raw("body", on_one_line(*payload));
  } else {
    line.raw("payload_base64", "\"" + base64(*payload) + "\"");
  }
  return line.end();
}

std::vector<std::string> variables_of(const inboxd::Event& event) {
  std::vector<std::string> out;
  const auto add = [&](const char* name, inboxd::MaybeText value) {
    if (value && value->find('\0') == std::string_view::npos) out.push_back(name + ("=" + std::string{*value}));
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

std::optional<Answer> answer_of(std::string_view line, std::string& why) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) {
    why = "it is not a JSON object";
    return std::nullopt;
  }
  Answer answer{text_in(json, "event_id"), inboxd::done()};
  const std::string outcome = text_in(json, "outcome");
  if (outcome == "retry") {
    answer.outcome.kind = INBOXD_RETRY;
  } else if (outcome == "dead") {
    answer.outcome.kind = INBOXD_DEAD;
  } else if (outcome == "skipped") {
    answer.outcome.kind = INBOXD_SKIPPED;
  } else if (outcome != "done") {
    why = "its outcome is none of done, retry, dead, skipped";
    return std::nullopt;
  }
  if (json.contains("delay")) {
    answer.outcome.delay = duration_of(text_in(json, "delay"));
    if (!answer.outcome.delay) {
      why = "its delay is no duration such as 250ms, 30s, 5m or 2h";
      return std::nullopt;
    }
  }
  answer.outcome.error_class = text_in(json, "error");
  answer.outcome.message = text_in(json, "message");
  return answer;
}

}  // namespace exec_handler
