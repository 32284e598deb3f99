#include "answer.hpp"

#include <nlohmann/json.hpp>

#include "encoding.hpp"

namespace handlers {
namespace {

using Json = nlohmann::json;

std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::optional<Answer> answer_of(std::string_view text, std::string& why) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    why =
        "it is not JSON, with the mistake at byte " + std::to_string(error.byte) + " of " + std::to_string(text.size());
    return std::nullopt;
  } catch (const Json::out_of_range&) {
    why = "it has a number beyond the range of a double";
    return std::nullopt;
  }
  if (!json.is_object()) {
    why = "it is not a JSON object";
    return std::nullopt;
  }
  Answer answer{canonical_id(text_in(json, "event_id")), inboxd::done(), std::nullopt};
  const std::string outcome = text_in(json, "outcome");
  if (outcome == "retry") {
    answer.outcome.kind = INBOXD_RETRY;
  } else if (outcome == "defer") {
    answer.outcome.kind = INBOXD_DEFER;
  } else if (outcome == "dead") {
    answer.outcome.kind = INBOXD_DEAD;
  } else if (outcome == "skipped") {
    answer.outcome.kind = INBOXD_SKIPPED;
  } else if (outcome != "done") {
    why = "its outcome is none of done, retry, defer, dead, skipped";
    return std::nullopt;
  }
  if (const auto delay = json.find("delay"); delay != json.end() && !delay->is_null()) {  // serializers write null
    answer.outcome.delay = duration_of(text_in(json, "delay"));
    if (!answer.outcome.delay) {
      why = "its delay is no duration such as 250ms, 30s, 5m or 2h";
      return std::nullopt;
    }
  }
  if (const auto attempt = json.find("attempt"); attempt != json.end() && attempt->is_number_integer()) {
    answer.attempt = attempt->get<std::int64_t>();
  }
  answer.outcome.error_class = text_in(json, "error");
  answer.outcome.message = text_in(json, "message");
  return answer;
}

}  // namespace handlers
