#include "process/connections/secure_kafka.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// Key and certificate of the broker, in one text.
std::string identity_of(const Authority& authority) {
  const auto pair = authority.issue("broker");
  return read_file(pair.key) + read_file(pair.certificate);
}

std::string identity_file(const Authority& authority) { return authority.certificate() + "-broker"; }

std::vector<std::string> lines_for(const Authority& authority) {
  const std::string both = identity_file(authority);
  write_file(both, identity_of(authority));
  const std::string scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  const std::string oauth =
      "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
      "unsecuredLoginStringClaim_sub=\"broker\";";
  std::vector<std::string> out{"listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512",
                               "listener.name.scram.scram-sha-256.sasl.jaas.config=" + scram,
                               "listener.name.scram.scram-sha-512.sasl.jaas.config=" + scram,
                               "listener.name.scram.scram-sha-256.connections.max.reauth.ms=3000",
                               "listener.name.scram.scram-sha-512.connections.max.reauth.ms=3000",
                               "listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER",
                               "listener.name.oauth.oauthbearer.sasl.jaas.config=" + oauth,
                               "listener.name.oauth.oauthbearer.connections.max.reauth.ms=3000",
                               "listener.name.mtls.ssl.client.auth=required",
                               "listener.name.mtls.ssl.truststore.type=PEM",
                               "listener.name.mtls.ssl.truststore.location=" + authority.certificate()};
  for (const std::string listener : {"scram", "oauth", "mtls"}) {
    out.push_back("listener.name." + listener + ".ssl.keystore.type=PEM");
    out.push_back("listener.name." + listener + ".ssl.keystore.location=" + both);
  }
  return out;
}

std::string base64url(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 8U | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += digits[bits >> (count - 6) & 63U];
  }
  if (count > 0) out += digits[bits << (6 - count) & 63U];
  return out;
}

void change_password(rd_kafka_t* client, rd_kafka_ScramMechanism_t mechanism, const std::string& password) {
  std::array<rd_kafka_UserScramCredentialAlteration_t*, 1> change{rd_kafka_UserScramCredentialUpsertion_new(
      SecureKafka::user, mechanism, 4096, reinterpret_cast<const unsigned char*>(password.data()), password.size(),
      nullptr, 0)};
  const Owned<rd_kafka_queue_t> answers{rd_kafka_queue_new(client), rd_kafka_queue_destroy};
  rd_kafka_AlterUserScramCredentials(client, change.data(), change.size(), nullptr, answers.get());
  rd_kafka_UserScramCredentialAlteration_destroy_array(change.data(), change.size());
  const Owned<rd_kafka_event_t> answer{rd_kafka_queue_poll(answers.get(), 30'000), rd_kafka_event_destroy};
  if (answer == nullptr) throw std::runtime_error{"the broker does not answer"};
  if (rd_kafka_event_error(answer.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error{rd_kafka_event_error_string(answer.get())};
  }
  std::size_t count = 0;
  const auto* const* const users = rd_kafka_AlterUserScramCredentials_result_responses(
      rd_kafka_event_AlterUserScramCredentials_result(answer.get()), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const rd_kafka_error_t* const refused = rd_kafka_AlterUserScramCredentials_result_response_error(users[i]);
    if (rd_kafka_error_code(refused) == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    throw std::runtime_error{rd_kafka_error_string(refused)};
  }
}

}  // namespace

SecureKafka& SecureKafka::shared() {
  static SecureKafka only;
  return only;
}

SecureKafka::SecureKafka()
    : broker_{lines_for(authority), 1, {"SCRAM=SASL_SSL", "OAUTH=SASL_SSL", "MTLS=SSL"}},
      kafka_{broker_.brokers()} {}

void SecureKafka::present(const Authority& signer) {
  write_file(identity_file(authority), identity_of(signer));
  broker_.restart();
}

void SecureKafka::set_password(const std::string& password) {
  std::array<char, 512> error{};
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", plaintext().c_str(), error.data(), error.size());
  const Owned<rd_kafka_t> client{rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size()), rd_kafka_destroy};
  if (client == nullptr) throw std::runtime_error{error.data()};
  // A request may change a user only once.
  for (const auto mechanism : {RD_KAFKA_SCRAM_MECHANISM_SHA_256, RD_KAFKA_SCRAM_MECHANISM_SHA_512}) {
    change_password(client.get(), mechanism, password);
  }
}

SecureKafka::Properties SecureKafka::scram(const std::string& mechanism) const {
  return {{"security.protocol", "sasl_ssl"},
          {"sasl.mechanism", mechanism},
          {"sasl.username", user},
          {"ssl.ca.location", authority.certificate()}};
}

SecureKafka::Properties SecureKafka::unsecured_token() const {
  return {{"security.protocol", "sasl_ssl"},
          {"sasl.mechanism", "OAUTHBEARER"},
          {"enable.sasl.oauthbearer.unsecure.jwt", "true"},
          {"sasl.oauthbearer.config", "principal=app lifeSeconds=60"},
          {"ssl.ca.location", authority.certificate()}};
}

SecureKafka::Properties SecureKafka::token_file(const std::string& file) const {
  return {{"security.protocol", "sasl_ssl"},
          {"sasl.mechanism", "OAUTHBEARER"},
          {"sasl.oauthbearer.token.file", file},
          {"ssl.ca.location", authority.certificate()}};
}

std::string SecureKafka::token(std::chrono::seconds valid) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::string claims = "{\"sub\":\"app\",\"iat\":" + std::to_string(now.count() - 1) +
                             ",\"exp\":" + std::to_string((now + valid).count()) + "}";
  return base64url("{\"alg\":\"none\"}") + "." + base64url(claims) + ".";
}

SecureKafka::Properties SecureKafka::certificate(const Authority::Pair& pair) const {
  return {{"security.protocol", "ssl"},
          {"ssl.ca.location", authority.certificate()},
          {"ssl.certificate.location", pair.certificate},
          {"ssl.key.location", pair.key}};
}

void SecureKafka::serve(DaemonFixture& fixture, const std::string& listener, const Properties& properties) const {
  fixture.config.brokers = address_of(listener);
  for (const auto& [name, value] : properties) fixture.config.kafka[name] = value;
}

}  // namespace inboxd::support
