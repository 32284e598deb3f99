#include "answer.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "../shared/answer.hpp"
#include "../shared/encoding.hpp"

namespace http_handler {
namespace {

using inboxd::Outcome;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr milliseconds usually_away{1'000};
constexpr milliseconds away_for_certificates{10'000};
constexpr std::size_t shown_bytes = 200;  // of an answer, in an error's message

/// Seconds, or a date as in HTTP.
std::optional<milliseconds> retry_after(const std::string& text, system_clock::time_point now) {
  std::int64_t whole = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size() && whole >= 0) {
    if (whole == 0) return std::nullopt;  // the backoff, or all attempts would be used up at once
    return milliseconds{seconds{std::min<std::int64_t>(whole, INBOXD_MAX_DELAY_MS / 1'000)}};
  }
  const std::time_t time = text.empty() ? -1 : curl_getdate(text.c_str(), nullptr);
  if (time < 0) return std::nullopt;
  const auto delay = std::chrono::duration_cast<milliseconds>(system_clock::from_time_t(time) - now);
  return delay.count() > 0 ? std::optional{delay} : std::nullopt;
}

std::string beginning_of(const std::string& body) {
  std::string out = body.substr(0, shown_bytes);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return out.empty() ? "" : ":\n" + out;  // it may quote the event
}

std::string about(const Target& target, const Answer& answer) {
  const std::string place = "POST " + target.url.shown();
  if (answer.code == CURLE_OK || answer.status >= 300) {
    return place + " was answered " + std::to_string(answer.status) + beginning_of(answer.body);
  }
  return place + ": " + answer.error;
}

Outcome failed_transfer(const Target& target, const Answer& answer) {
  const std::string message = about(target, answer);
  // Whoever may see the state of handlers sees why a handler is away: no path, which a key may be part of, and no
  // answer.
  const std::string away = target.url.server() + ": " + answer.error;
  switch (answer.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      if (answer.is_refused) {
        return inboxd::retry(
            "POST " + target.url.shown() + ": its address is link-local; set allow_link_local if that is intended",
            "http.link_local");
      }
      return inboxd::away(usually_away, away, "http.unreachable");
    case CURLE_OPERATION_TIMEDOUT:
      if (!answer.has_connected) return inboxd::away(usually_away, away, "http.unreachable");
      return inboxd::retry(message, "http.timeout");
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return inboxd::away(away_for_certificates, away, "http.tls");
    default:
      if (is_reset(answer)) return inboxd::away(usually_away, away, "http.reset");
      return inboxd::retry(message, "http.broken_answer");
  }
}

/// Dapr's word on an event that was answered 2xx.
Outcome dapr_outcome(const Target& target, const Answer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  const std::string status = body.is_object() && body.contains("status") && body["status"].is_string()
                                 ? body["status"].get<std::string>()
                                 : "";
  if (!answer.is_whole) return inboxd::retry(about(target, answer) + " (longer than max_body)", "http.broken_answer");
  if (status.empty() || status == "SUCCESS") return inboxd::done();
  if (status == "DROP") return inboxd::dead(about(target, answer), "http.dropped");
  return inboxd::retry(about(target, answer), status == "RETRY" ? "http.retry" : "http.broken_answer");
}

/// Throws std::runtime_error with the mistake.
std::vector<handlers::Answer> verdicts_in(const Answer& answer) {
  const std::size_t first = answer.body.find_first_not_of(" \t\r\n");
  const bool is_list = first != std::string::npos && answer.body[first] == '[';
  if (is_list && !answer.is_whole) throw std::runtime_error{"its list of verdicts is longer than max_body"};
  const bool is_deep = handlers::is_deep(answer.body);
  if (is_list && is_deep) throw std::runtime_error{"its list of verdicts is nested too deep"};
  if (is_deep) return {};
  json body = json::parse(answer.body, nullptr, false);
  if (is_list && !body.is_array()) throw std::runtime_error{"its list of verdicts is no JSON"};
  if (body.is_object() && body.contains("outcome")) body = json::array({body});  // a verdict without its list
  std::vector<handlers::Answer> out;
  if (!body.is_array()) return out;
  for (const json& each : body) {
    std::string why;
    auto verdict = handlers::answer_of(each.dump(-1, ' ', false, json::error_handler_t::replace), why);
    if (!verdict) throw std::runtime_error{"a verdict is wrong: " + why};
    out.push_back(*std::move(verdict));
  }
  return out;
}

/// The events of a request by the ids that a verdict may name: the UUID, and the `id` of the CloudEvent.
class EventsById {
 public:
  explicit EventsById(const std::vector<inboxd::Event>& events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      add(events[i].id(), i);
      add(handlers::canonical_id(events[i].source_id()), i);
    }
  }
  /// Throws std::runtime_error if no event has the id, or several have.
  std::size_t find(const std::string& id) const {
    const auto found = indexes_.find(id);
    if (found == indexes_.end()) throw std::runtime_error{"the event_id of a verdict is of no event of the request"};
    if (found->second == several) {
      throw std::runtime_error{"the event_id of a verdict fits several events of the request; use idempotencykey"};
    }
    return found->second;
  }

 private:
  static constexpr auto several = static_cast<std::size_t>(-1);
  void add(const std::string& id, std::size_t index) {
    const auto [known, is_new] = indexes_.emplace(id, index);
    if (!is_new && known->second != index) known->second = several;
  }
  std::unordered_map<std::string, std::size_t> indexes_;
};

}  // namespace

bool is_reset(const Answer& answer) {
  switch (answer.code) {
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return answer.status == 0;
    default:
      return false;
  }
}

Outcome outcome_of(const Target& target, const Answer& answer, system_clock::time_point now) {
  const long status = answer.status;
  const bool is_success = status >= 200 && status < 300;
  if (answer.code != CURLE_OK && (status == 0 || is_success)) return failed_transfer(target, answer);
  if (is_success) return target.style == Style::dapr ? dapr_outcome(target, answer) : inboxd::done();
  const std::string error_class = "http." + std::to_string(status);
  // With placeholders 410 may be about a single event's own address.
  if (status == 410 && target.url.has_placeholders()) return inboxd::dead(about(target, answer), error_class);
  if (status == 410) return inboxd::pause(about(target, answer), error_class);
  if (target.permanent.contains(status)) return inboxd::dead(about(target, answer), error_class);
  if (status == 429 || status == 503) {
    if (const auto delay = retry_after(answer.retry_after, now)) {
      const auto wait = std::min(*delay, target.max_retry_after);
      return target.defers ? inboxd::defer(wait, about(target, answer), error_class)
                           : inboxd::retry(wait, about(target, answer), error_class);
    }
  }
  return inboxd::retry(about(target, answer), error_class);
}

std::optional<std::string> doubt_about(const Target& target, const Answer& answer) {
  const bool is_read = target.posts_batches || target.style == Style::dapr;
  const bool is_success = answer.code == CURLE_OK && answer.status >= 200 && answer.status < 300;
  if (!is_read || !is_success || !answer.is_whole || answer.body.empty()) return std::nullopt;
  if (!answer.content_type.starts_with("application/json") || json::accept(answer.body)) return std::nullopt;
  return "POST " + target.url.shown() + " was answered 2xx with Content-Type " + answer.content_type +
         ", but its body is no JSON and counts as no verdict" + beginning_of(answer.body);
}

std::vector<Outcome> outcomes_in(const Target& target, const Answer& answer, const std::vector<inboxd::Event>& events) {
  std::vector<Outcome> out(events.size(), inboxd::done());
  try {
    std::vector<handlers::Answer> verdicts = verdicts_in(answer);
    if (verdicts.empty()) return out;
    const EventsById by_id{events};
    for (handlers::Answer& each : verdicts) out[by_id.find(each.event_id)] = std::move(each.outcome);
  } catch (const std::exception& mistake) {
    const std::string message = "POST " + target.url.shown() + " was answered 2xx, but " + mistake.what();
    out.assign(events.size(), inboxd::retry(message, "http.broken_answer"));
  }
  return out;
}

}  // namespace http_handler
