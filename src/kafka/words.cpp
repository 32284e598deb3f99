#include "kafka/words.hpp"

#include <string_view>

namespace inboxd::kafka {
namespace {

/// As syslog counts: 0 to 4 are warnings and worse.
constexpr int warning_level = 4;

/// `[thrd:localhost:9092/bootstrap]: localhost:9092/bootstrap: Connect to …` without what is in brackets.
std::string_view without_thread(std::string_view text) {
  if (!text.starts_with("[thrd:")) return text;
  const auto end = text.find("]: ");
  return end == std::string_view::npos ? text : text.substr(end + 3);
}

}  // namespace

void Words::listen(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_log_cb(conf, on_log);
}

std::string Words::last_complaint() const {
  const std::lock_guard lock{mutex_};
  return last_complaint_;
}

void Words::on_log(const rd_kafka_t* client, int level, const char*, const char* text) {
  auto* const self = client == nullptr ? nullptr : static_cast<Words*>(rd_kafka_opaque(client));
  // "3/3 brokers are down" follows each reason, and is none.
  if (self == nullptr || level > warning_level || std::string_view{text}.ends_with("brokers are down")) return;
  const std::lock_guard lock{self->mutex_};
  self->last_complaint_ = without_thread(text);
}

}  // namespace inboxd::kafka
