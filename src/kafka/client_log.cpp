#include "kafka/client_log.hpp"

#include <string_view>

#include "base/mutex.hpp"

namespace inboxd::kafka {
namespace {

/// Syslog levels: 0 to 4 are warnings and worse.
constexpr int warning_level = 4;

/// A broker that closes a connection before it answers, as a listener with TLS does to a client without, is worth only
/// an information to the library.
bool is_closed_at_once(std::string_view text) {
  return text.find("in state APIVERSION_QUERY") != std::string_view::npos;
}

/// `[thrd:localhost:9092/bootstrap]: localhost:9092/bootstrap: Connect to …` without the part in brackets.
std::string_view without_thread(std::string_view text) {
  if (!text.starts_with("[thrd:")) return text;
  const auto end = text.find("]: ");
  return end == std::string_view::npos ? text : text.substr(end + 3);
}

}  // namespace

void ClientLog::attach(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_log_cb(conf, on_log);
}

std::string ClientLog::last_warning() const {
  const base::Lock lock{mutex_};
  return last_warning_;
}

void ClientLog::on_log(const rd_kafka_t* client, int level, const char*, const char* text) {
  auto* const self = client == nullptr ? nullptr : static_cast<ClientLog*>(rd_kafka_opaque(client));
  // "3/3 brokers are down" follows each reason and explains nothing.
  if (self == nullptr || std::string_view{text}.ends_with("brokers are down")) return;
  if (level > warning_level && !is_closed_at_once(text)) return;
  const base::Lock lock{self->mutex_};
  self->last_warning_ = without_thread(text);
}

}  // namespace inboxd::kafka
