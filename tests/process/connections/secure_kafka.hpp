#pragma once
#include <chrono>
#include <map>
#include <string>

#include "process/support/authority.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/kafka.hpp"
#include "support/private_kafka.hpp"

namespace inboxd::support {

/// A broker with TLS and logins: a listener for each kind of login, all with a certificate of `authority`. Passwords
/// and tokens are checked again every few seconds, so that a rotation is noticed on open connections.
class SecureKafka final {
 public:
  using Properties = std::map<std::string, std::string>;
  static constexpr const char* user = "app";

  /// The program's only instance, started by the first test.
  static SecureKafka& shared();

  SecureKafka();

  /// Of the broker and of its clients.
  Authority authority;

  /// Plaintext, without a login: for the test's own producer.
  Kafka& kafka() { return kafka_; }
  const std::string& plaintext() const { return kafka_.brokers(); }
  std::string address_of(const std::string& listener) const { return broker_.address_of(listener); }
  /// Restarts the broker with a certificate of that authority.
  void present(const Authority& signer);
  /// For both mechanisms.
  void set_password(const std::string& password);

  /// The properties of a client for a listener, without a password.
  Properties scram(const std::string& mechanism) const;
  Properties unsecured_token() const;
  Properties token_file(const std::string& file) const;
  Properties certificate(const Authority::Pair& pair) const;

  /// The fixture's configuration for that listener.
  void serve(DaemonFixture& fixture, const std::string& listener, const Properties& properties) const;

  /// A token that the broker takes without a signature, valid from now on for that time.
  static std::string token(std::chrono::seconds valid);

 private:
  PrivateKafka broker_;
  Kafka kafka_;
};

}  // namespace inboxd::support
