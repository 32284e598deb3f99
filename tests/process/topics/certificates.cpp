// Brokers that ask their clients for certificates.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <thread>

#include "process/support/authority.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/private_kafka.hpp"
#include "support/proxy.hpp"
#include "support/topic_reader.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::vector<std::string> asks_for_certificates(const Authority& authority) {
  const auto pair = authority.issue("broker");
  const std::string both = pair.key + "-and-certificate";
  write_file(both, read_file(pair.key) + read_file(pair.certificate));
  const std::string prefix = "listener.name.proxied.ssl.";
  return {"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:SSL",
          prefix + "client.auth=required",
          prefix + "keystore.type=PEM",
          prefix + "keystore.location=" + both,
          prefix + "truststore.type=PEM",
          prefix + "truststore.location=" + authority.certificate()};
}

}  // namespace

TEST_CASE("rotated client certificates are used by the consumer, the outbox and the kafka handler without a restart") {
  const Authority authority;
  PrivateKafka broker{asks_for_certificates(authority)};
  Kafka kafka{broker.brokers()};
  Proxy proxy{broker.port_behind_proxy(), broker.proxy_port()};
  DaemonFixture fixture{1};
  const std::string copies = random_name("copies"), messages = random_name("messages");
  for (const std::string& topic : {fixture.topic, copies, messages}) kafka.create_topic(1, topic);

  constexpr std::chrono::seconds valid{20};
  const auto client = authority.issue("client", valid);
  const auto expired = monotonic_ms() + 1000 * valid.count() + 1000;
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  auto& properties = fixture.config.kafka;
  properties["security.protocol"] = "ssl";
  properties["ssl.ca.location"] = authority.certificate();
  properties["ssl.certificate.location"] = client.certificate;
  properties["ssl.key.location"] = client.key;
  fixture.config.sections["outbox"] = "topics: [" + messages + "]";
  HandlerText copy{.name = "copy", .plugin = "kafka", .settings = {{"topic", copies}}};
  fixture.config.handlers.push_back(copy);
  const auto daemon = fixture.start();
  const auto publish = [&] {
    fixture.produce_through(kafka, 20);
    fixture.database.run("select inbox.publish('" + messages + "', null, '{}')");
    CHECK(fixture.wait_done("recorder").is_perfect());
    CHECK(fixture.wait_done("copy").is_perfect());
    fixture.database.wait_for("the message is sent", "select count(*) from inbox.outbox", 0);
  };
  publish();

  std::this_thread::sleep_for(std::chrono::milliseconds{expired - monotonic_ms()});
  proxy.cut();
  daemon->wait_log("consumer: ");
  const auto next = authority.issue("next");
  std::filesystem::rename(next.certificate, client.certificate);  // for a moment the key does not fit
  std::filesystem::rename(next.key, client.key);
  publish();
  CHECK(daemon->count_in_log("kind=consumer.credentials_changed") == 1);
  CHECK(daemon->count_in_log("kind=consumer.no_client") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(kafka.ends(copies).at(0) == 40);
  CHECK(kafka.ends(messages).at(0) == 2);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
