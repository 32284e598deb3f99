#include "kafka/credentials.hpp"

#include "kafka/handle.hpp"

namespace inboxd::kafka {

void Credentials::renew(std::initializer_list<rd_kafka_t*> clients) {
  const auto now = std::chrono::steady_clock::now();
  if (!now_ || now < next_look_) return;
  next_look_ = now + std::chrono::seconds{1};
  Properties properties = now_();
  std::string& username = properties["sasl.username"];
  std::string& password = properties["sasl.password"];
  if (username.empty() || password.empty() || (username == username_ && password == password_)) return;
  for (rd_kafka_t* const client : clients) {
    const Error ignored{rd_kafka_sasl_set_credentials(client, username.c_str(), password.c_str())};
  }
  username_ = std::move(username);
  password_ = std::move(password);
}

}  // namespace inboxd::kafka
