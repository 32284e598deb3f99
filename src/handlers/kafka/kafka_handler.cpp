// The handler `kafka` publishes a record for each event: its key, payload and headers. An event is done once all
// in-sync replicas have the record. Settings: settings.hpp.
#include <algorithm>
#include <inboxd/handler.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sender.hpp"
#include "settings.hpp"

namespace kafka_handler {
namespace {

bool keeps_headers(const inboxd::Settings& settings) {
  const std::string text = settings.text("headers", table.text("headers"));
  if (text != "keep" && text != "none") {
    throw inboxd::SettingsError{"setting 'headers' is '" + text + "'; it must be keep or none"};
  }
  return text == "keep";
}

std::vector<std::string> allowed_topics(const inboxd::Settings& settings) {
  if (!settings.has("topics_allowed")) return {};
  const auto list = nlohmann::json::parse(settings.text("topics_allowed"), nullptr, false);
  const auto is_name = [](const auto& each) { return each.is_string() && !each.template get<std::string>().empty(); };
  if (!list.is_array() || list.empty() || !std::all_of(list.begin(), list.end(), is_name)) {
    throw inboxd::SettingsError{"setting 'topics_allowed' must be a list of topics, such as [orders, \"billing.*\"]"};
  }
  return list.get<std::vector<std::string>>();
}

Target target_of(const inboxd::Settings& settings) {
  handlers::known(settings, table);
  TopicTemplate topic{settings.text("topic"), allowed_topics(settings)};
  if (topic.is_open()) {
    settings.log().warn(
        "setting 'topic' begins with a placeholder, so the producer of an event may choose any topic; "
        "set topics_allowed");
  }
  return {std::move(topic), properties_of(settings), keeps_headers(settings),
          !handlers::is_raw(settings.text("payload", table.text("payload")))};
}

struct Kafka final : inboxd::AsyncHandler {
  explicit Kafka(const inboxd::Settings& settings) : target{target_of(settings)}, sender{target, settings.log()} {}

  void begin(std::unique_ptr<inboxd::OpenCall>& call) override { sender.send(std::move(call)); }

  const Target target;
  Sender sender;
};

}  // namespace
}  // namespace kafka_handler

INBOXD_HANDLER(kafka_handler::Kafka, "kafka", INBOXD_VERSION, INBOXD_ASYNC)
