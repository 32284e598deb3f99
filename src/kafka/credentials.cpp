#include "kafka/credentials.hpp"

#include <fstream>
#include <sstream>

#include "base/sha256.hpp"
#include "kafka/handle.hpp"
#include "kafka/token_file.hpp"

namespace inboxd::kafka {
namespace {

/// As `ssl.certificate.location`. A folder, as of authorities, counts as empty: the library looks into it again.
std::string bytes_of_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream out;
  out << file.rdbuf();  // an iterator would throw at a folder
  return out.str();
}

std::string digest_of_others(const Credentials::Properties& properties) {
  std::string all;
  for (const auto& [name, value] : properties) {
    if (name == "sasl.username" || name == "sasl.password") continue;
    all.append(name).append(1, '\0').append(value).append(1, '\0');
    if (name.ends_with(".location")) all.append(bytes_of_file(value)).append(1, '\0');
  }
  return base::sha256_hex(all);
}

}  // namespace

Credentials::Credentials(std::function<Properties()> now) : now_{std::move(now)} {
  if (now_) others_ = digest_of_others(now_());
}

void Credentials::note_failure() { last_look_ = std::chrono::steady_clock::now() + std::chrono::minutes{1}; }

bool Credentials::renew(std::initializer_list<rd_kafka_t*> clients) {
  const auto now = std::chrono::steady_clock::now();
  if (!now_ || now < next_look_ || now > last_look_) return false;
  next_look_ = now + std::chrono::seconds{1};
  for (rd_kafka_t* const client : clients) renew_token(client);
  Properties properties = now_();
  const bool is_outdated = digest_of_others(properties) != others_;
  std::string& username = properties["sasl.username"];
  std::string& password = properties["sasl.password"];
  if (username.empty() || password.empty() || (username == username_ && password == password_)) return is_outdated;
  for (rd_kafka_t* const client : clients) {
    const Error ignored{rd_kafka_sasl_set_credentials(client, username.c_str(), password.c_str())};
  }
  username_ = std::move(username);
  password_ = std::move(password);
  return is_outdated;
}

}  // namespace inboxd::kafka
