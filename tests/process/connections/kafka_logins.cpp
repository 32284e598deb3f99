// Logins of the Kafka listeners: SCRAM, tokens, client certificates.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "process/connections/secure_kafka.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Events pass from the broker to the handler.
void check_passes(DaemonFixture& fixture) {
  fixture.produce_through(SecureKafka::shared().kafka(), 20);
  CHECK(fixture.wait_done().is_perfect());
}

/// The lines of `check` about these properties, which the broker refuses.
std::string refusal(DaemonFixture& fixture, const std::string& brokers, const SecureKafka::Properties& properties) {
  fixture.config.brokers = brokers;
  fixture.config.kafka = properties;
  const auto checked = command(fixture.config, {"check"});
  INFO(checked.out << checked.err);
  CHECK(checked.status == ExitStatus{77, 0});
  return checked.out;
}

}  // namespace

TEST_CASE("events pass over SCRAM-SHA-256, SCRAM-SHA-512, a token and a client certificate, all with TLS") {
  SecureKafka& server = SecureKafka::shared();
  server.set_password("right");
  DaemonFixture fixture{1};
  auto scram_256 = server.scram("SCRAM-SHA-256"), scram_512 = server.scram("SCRAM-SHA-512");
  scram_256["sasl.password"] = scram_512["sasl.password"] = "right";
  const std::vector<std::pair<std::string, SecureKafka::Properties>> logins{
      {"SCRAM", scram_256},
      {"SCRAM", scram_512},
      {"OAUTH", server.unsecured_token()},
      {"MTLS", server.certificate(server.authority.issue("client"))}};
  server.kafka().create_topic(1, fixture.topic);
  const auto defaults = fixture.config.kafka;
  for (const auto& [listener, properties] : logins) {
    CAPTURE(listener, properties.at("security.protocol"));
    server.serve(fixture, listener, properties);
    const auto checked = command(fixture.config, {"check"});
    INFO(checked.out);
    const auto daemon = fixture.start();
    check_passes(fixture);
    CHECK(daemon->stop() == ExitStatus{0, 0});
    fixture.config.kafka = defaults;
    CHECK_THAT(checked.out, ContainsSubstring("brokers " + server.address_of(listener) + ": ") &&
                                !ContainsSubstring("plaintext"));
  }
}

TEST_CASE("a password changed on the brokers and in its file is used at once, and loses and doubles nothing") {
  SecureKafka& server = SecureKafka::shared();
  server.set_password("first");
  DaemonFixture fixture{1};
  const TempFolder folder;
  const auto secret = folder / "password";
  write_file(secret, "first\n");
  auto properties = server.scram("SCRAM-SHA-512");
  properties["sasl.password"] = "{file: " + secret.string() + "}";
  server.serve(fixture, "SCRAM", properties);
  const std::string copies = random_name("copies");
  for (const std::string& topic : {fixture.topic, copies}) server.kafka().create_topic(1, topic);
  fixture.config.handlers.push_back(HandlerText{.name = "copy", .plugin = "kafka", .settings = {{"topic", copies}}});
  const auto daemon = fixture.start();
  check_passes(fixture);
  server.set_password("second");
  daemon->wait_log("SASL authentication error");  // an open connection logs in again every three seconds
  write_file(secret, "second\n");
  check_passes(fixture);
  CHECK(fixture.wait_done("copy").is_perfect());
  CHECK(server.kafka().ends(copies).at(0) == 40);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("check names what a listener refuses: password, user, certificate, authority, protocol") {
  SecureKafka& server = SecureKafka::shared();
  server.set_password("right");
  DaemonFixture fixture{1};
  fixture.migrate();
  const std::string mechanism = GENERATE("SCRAM-SHA-256", "SCRAM-SHA-512");
  auto login = server.scram(mechanism);
  login["sasl.password"] = "wrong";
  const std::string scram = server.address_of("SCRAM"), mtls = server.address_of("MTLS");
  CHECK_THAT(refusal(fixture, scram, login),
             ContainsSubstring("the broker refuses user app (" + mechanism + "): correct sasl.username"));
  if (mechanism == "SCRAM-SHA-512") return;  // the rest is the same

  login["sasl.password"] = "right";
  const Authority stranger;
  auto mistrusting = login;
  mistrusting["ssl.ca.location"] = stranger.certificate();
  CHECK_THAT(refusal(fixture, scram, mistrusting), ContainsSubstring("set ssl.ca.location in kafka.properties"));
  CHECK_THAT(refusal(fixture, server.plaintext(), login), ContainsSubstring("it answers, but not with TLS"));

  const auto with = [&](const Authority::Pair& pair) { return server.certificate(pair); };
  const std::string wanted = "set ssl.certificate.location and ssl.key.location";
  const SecureKafka::Properties none{{"security.protocol", "ssl"}, {"ssl.ca.location", server.authority.certificate()}};
  CHECK_THAT(refusal(fixture, mtls, none), ContainsSubstring(wanted));
  CHECK_THAT(refusal(fixture, mtls, with(stranger.issue("stranger"))), ContainsSubstring(wanted));
  CHECK_THAT(refusal(fixture, mtls, with(server.authority.issue("expired", std::chrono::seconds{-60}))),
             ContainsSubstring(wanted));
}

TEST_CASE("check says that a listener with TLS closes connections in plaintext") {
  SecureKafka& server = SecureKafka::shared();
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.config.brokers = server.address_of("SCRAM");
  const auto checked = command(fixture.config, {"check"});
  INFO(checked.out);
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.out, ContainsSubstring("as a listener with TLS does to a client in plaintext: set security."));
}

TEST_CASE("check says that a listener with TLS may want a login") {
  SecureKafka& server = SecureKafka::shared();
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.config.brokers = server.address_of("SCRAM");
  fixture.config.kafka = {{"security.protocol", "ssl"}, {"ssl.ca.location", server.authority.certificate()}};
  const auto checked = command(fixture.config, {"check"});
  INFO(checked.out);
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.out, ContainsSubstring("if it wants a login, set security.protocol to sasl_ssl"));
}

TEST_CASE("check says that a broker refuses a token") {
  SecureKafka& server = SecureKafka::shared();
  DaemonFixture fixture{1};
  fixture.migrate();
  auto token = server.unsecured_token();
  token["sasl.oauthbearer.config"] = "principalClaimName=other principal=app lifeSeconds=60";
  CHECK_THAT(refusal(fixture, server.address_of("OAUTH"), token),
             ContainsSubstring("the broker refuses this client (OAUTHBEARER): correct sasl.oauthbearer"));
}
