#include "kafka/client_log.hpp"

#include <string_view>

#include "base/mutex.hpp"

namespace inboxd::kafka {
namespace {

/// Syslog levels: 0 to 4 are warnings and worse.
constexpr int warning_level = 4;

/// `[thrd:localhost:9092/bootstrap]: localhost:9092/bootstrap: Connect to …` without the part in brackets.
std::string_view without_thread(std::string_view text) {
  if (!text.starts_with("[thrd:")) return text;
  const auto end = text.find("]: ");
  return end == std::string_view::npos ? text : text.substr(end + 3);
}

}  // namespace

bool is_closed_at_once(std::string_view text) {
  if (text.find("in state APIVERSION_QUERY") != std::string_view::npos) return true;
  constexpr std::string_view after = "(after ";
  const auto start = text.rfind(after);
  if (start == std::string_view::npos || text.find("in state UP", start) == std::string_view::npos) return false;
  const std::string_view rest = text.substr(start + after.size());
  const auto digits = rest.find_first_not_of("0123456789");
  return digits <= 4 && rest.substr(digits).starts_with("ms ");
}

void ClientLog::attach(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_log_cb(conf, on_log);
  rd_kafka_conf_set(conf, "log.connection.close", "true", nullptr, 0);
}

std::string ClientLog::last_warning() const {
  const base::Lock lock{mutex_};
  return last_warning_;
}

bool ClientLog::explains(int level, std::string_view text) {
  // "3/3 brokers are down" follows each reason and explains nothing.
  return !text.ends_with("brokers are down") && (level <= warning_level || is_closed_at_once(text));
}

void ClientLog::on_log(const rd_kafka_t* client, int level, const char*, const char* text) {
  auto* const self = client == nullptr ? nullptr : static_cast<ClientLog*>(rd_kafka_opaque(client));
  if (self == nullptr || !explains(level, text)) return;
  const base::Lock lock{self->mutex_};
  self->last_warning_ = without_thread(text);
}

}  // namespace inboxd::kafka
