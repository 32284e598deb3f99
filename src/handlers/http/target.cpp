#include "target.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../shared/encoding.hpp"
#include "settings.hpp"

namespace http_handler {
namespace {

using inboxd::SettingsError;
using nlohmann::json;

constexpr std::int64_t max_answer_bytes = 64 << 20;

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& right) {
  throw SettingsError{"setting '" + name + "' is '" + value + "'; it must be " + right};
}

Style style_of(const std::string& text) {
  if (text == "cloudevents-binary") return Style::cloudevents_binary;
  if (text == "cloudevents-structured") return Style::cloudevents_structured;
  if (text == "dapr") return Style::dapr;
  refuse("style", text, "cloudevents-binary, cloudevents-structured or dapr");
}

std::set<long> statuses_of(const std::string& text) {
  const json list = json::parse(text, nullptr, false);
  std::set<long> out;
  for (const json& each : list.is_array() ? list : json::array({json{}})) {
    const long status = each.is_number_integer() ? each.get<long>() : 0;
    if (status < 400 || status > 599 || status == 410 || status == 429 || status == 503) {
      refuse("permanent", text, "a list of statuses from 400 to 599 without 410, 429 and 503, such as [400, 422]");
    }
    out.insert(status);
  }
  return out;
}

bool is_token(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

/// Messages do not repeat values: a header may have a token.
std::vector<std::string> headers_of(const std::string& text) {
  const json map = json::parse(text, nullptr, false);
  if (!map.is_object()) throw SettingsError{"setting 'headers' must be a map of names and values"};
  std::vector<std::string> out;
  for (const auto& [name, value] : map.items()) {
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    if (!is_token(name) || value.is_structured() || std::any_of(shown.begin(), shown.end(), is_control)) {
      throw SettingsError{"setting 'headers': '" + name + "' is no name of a header, or its value is not one line"};
    }
    out.push_back(shown.empty() ? name + ";" : name + ": " + shown);
  }
  return out;
}

std::chrono::milliseconds duration_in(const json& map, const char* name, std::chrono::milliseconds otherwise) {
  if (!map.contains(name)) return otherwise;
  const auto found = map[name].is_string() ? handlers::duration_of(map[name].get<std::string>()) : std::nullopt;
  if (!found || found->count() == 0) refuse(std::string{"health."} + name, map[name].dump(), "a duration such as 2s");
  return *found;
}

HealthCheck health_of(const inboxd::Settings& settings, const std::string& url) {
  HealthCheck out;
  if (!settings.has("health")) return out;
  const std::string text = settings.text("health");
  const json map = json::parse(text, nullptr, false);
  const auto is_known = [](const auto& each) {
    return each.key() == "path" || each.key() == "every" || each.key() == "timeout" || each.key() == "failures";
  };
  bool is_right = map.is_object() && map.contains("path") && map["path"].is_string() &&
                  map["path"].template get<std::string>().starts_with('/');
  if (is_right) {
    for (const auto& each : map.items()) is_right = is_right && is_known(each);
  }
  if (!is_right) {
    refuse("health", text, "a map with path, and if needed every, timeout and failures: {path: /health, every: 5s}");
  }
  const std::size_t authority = url.find("://") + 3;
  out.url = url.substr(0, std::min(url.find_first_of("/?", authority), url.size())) + map["path"].get<std::string>();
  out.every = duration_in(map, "every", out.every);
  out.timeout = duration_in(map, "timeout", out.timeout);
  if (map.contains("failures")) {
    if (!map["failures"].is_number_integer() || map["failures"] < 1 || map["failures"] > 1'000) {
      refuse("health.failures", map["failures"].dump(), "1 to 1000");
    }
    out.failures = map["failures"].get<int>();
  }
  return out;
}

std::string file_of(const inboxd::Settings& settings, const std::string& name) {
  const std::string file = settings.text(name, "");
  if (!file.empty() && access(file.c_str(), R_OK) != 0) refuse(name, file, "a file that the daemon may read");
  return file;
}

std::string socket_of(const std::string& path) {
  if (!path.empty() && !path.starts_with('/'))
    refuse("unix_socket", path, "an absolute path, such as /run/orders.sock");
  return path;
}

bool defers_by(const std::string& text) {
  if (text != "retry" && text != "defer") refuse("retry_after", text, "retry or defer");
  return text == "defer";
}

std::size_t max_answer_of(std::int64_t bytes) {
  if (bytes < 0 || bytes > max_answer_bytes) refuse("max_body", std::to_string(bytes), "0 to 67108864 bytes");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Target::Target(const inboxd::Settings& settings)
    : url{settings.text("url")},
      style{style_of(settings.text("style", table.text("style")))},
      posts_batches{settings.events_per_call() > 1 && style != Style::dapr},
      sends_raw{handlers::is_raw(settings.text("payload", table.text("payload")))},
      health{health_of(settings, settings.text("url"))},
      permanent{statuses_of(settings.text("permanent", table.text("permanent")))},
      signer{settings.text("signing_secret", "")},
      headers{headers_of(settings.text("headers", table.text("headers")))},
      max_answer{max_answer_of(settings.number("max_body", table.number("max_body")))},
      defers{defers_by(settings.text("retry_after", table.text("retry_after")))},
      max_retry_after{settings.duration("max_retry_after", table.duration("max_retry_after"))},
      connect_timeout{settings.duration("connect_timeout", table.duration("connect_timeout"))},
      unix_socket{socket_of(settings.text("unix_socket", ""))},
      may_be_link_local{settings.boolean("allow_link_local", table.boolean("allow_link_local"))},
      ca{file_of(settings, "ca")},
      certificate{file_of(settings, "certificate")},
      private_key{file_of(settings, "certificate_key")} {
  if (certificate.empty() != private_key.empty()) {
    throw SettingsError{"settings 'certificate' and 'certificate_key' come together; set both or none"};
  }
  if (connect_timeout.count() == 0) throw SettingsError{"setting 'connect_timeout' is 0; it must be longer"};
  if (!url.is_https() && !(ca.empty() && certificate.empty())) {
    throw SettingsError{"settings 'ca' and 'certificate' need a url that begins with https://"};
  }
}

}  // namespace http_handler
