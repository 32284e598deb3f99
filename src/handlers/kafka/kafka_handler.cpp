// The handler `kafka` publishes a record for each event: its key, payload and headers. An event is done once all
// in-sync replicas have the record. Settings: settings.hpp.
#include <inboxd/handler.hpp>

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

Target target_of(const inboxd::Settings& settings) {
  handlers::known(settings, table);
  return {TopicTemplate{settings.text("topic")}, properties_of(settings), keeps_headers(settings)};
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
