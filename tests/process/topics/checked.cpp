// `check` and brokers that refuse, advertise a dead address, or lack topics that the daemon publishes to.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/private_kafka.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("check says that the brokers refuse a login, with user and mechanism, and does not wait", "[alone]") {
  PrivateKafka broker{{"listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT",
                       "inter.broker.listener.name=PROXIED", "sasl.enabled.mechanisms=PLAIN",
                       "listener.name.plaintext.plain.sasl.jaas.config="
                       "org.apache.kafka.common.security.plain.PlainLoginModule required user_app=\"right\";"}};
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.config.brokers = broker.brokers();
  fixture.config.kafka = {{"security.protocol", "sasl_plaintext"},
                          {"sasl.mechanism", "PLAIN"},
                          {"sasl.username", "app"},
                          {"sasl.password", "wrong"}};
  std::int64_t took = 10'000;  // how long it waits for brokers that do not answer
  for (int attempt = 0; attempt < 3 && took >= 8'000; ++attempt) {  // a busy machine may be slow once
    const auto began = monotonic_ms();
    const auto refused = command(fixture.config, {"check"});
    took = monotonic_ms() - began;
    WARN("refused after " << took << " ms");
    CHECK(refused.status == ExitStatus{77, 0});
    CHECK_THAT(refused.out, ContainsSubstring("the broker refuses user app (PLAIN): correct sasl.username"));
  }
  CHECK(took < 8'000);
  fixture.config.kafka["sasl.password"] = "right";
  const auto taken = command(fixture.config, {"check"});
  INFO(taken.out);
  CHECK_THAT(taken.out, !ContainsSubstring("refuse"));
}

TEST_CASE("check names the address that a broker advertises and that takes no connection") {
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.config.brokers = "127.0.0.1:" + needed("INBOXD_TEST_KAFKA_BEHIND_PROXY");
  const auto checked = command(fixture.config, {"check"});
  INFO(checked.out);
  CHECK(checked.status == ExitStatus{69, 0});
  CHECK_THAT(checked.out, ContainsSubstring("the cluster names its broker 1 as 127.0.0.1:" +
                                            needed("INBOXD_TEST_KAFKA_PROXY_PORT") + ", which is not reached"));
}

TEST_CASE("check names missing topics of kafka handlers and of dead letters, and topics that lose messages") {
  DaemonFixture fixture{1};
  fixture.migrate();
  const std::string copies = random_name("copies"), dead = random_name("dead"), orders = random_name("orders");
  fixture.config.sections["outbox"] = "topics: [" + orders + ", billing.*]";
  HandlerText copy{.name = "copy", .plugin = "kafka"};
  copy.settings["topic"] = copies;
  fixture.config.handlers.push_back(copy);
  fixture.config.handlers[0].more = {"dead_letters: {topic: " + dead + "}"};
  auto checked = command(fixture.config, {"check"});
  INFO(checked.out);
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.out, ContainsSubstring("topic " + copies + ": the brokers know no such topic, to which handler"));
  CHECK_THAT(checked.out, ContainsSubstring("topic " + dead + ": the brokers know no such topic, so dead letters of"));
  CHECK_THAT(checked.out, ContainsSubstring("topic " + orders + ": the brokers know no such topic, so messages"));
  fixture.kafka.create_topic(1, copies);
  fixture.kafka.create_topic(1, orders);
  fixture.kafka.create_topic(1, dead, {{"min.insync.replicas", "2"}});
  checked = command(fixture.config, {"check"});
  CHECK(checked.status == ExitStatus{0, 0});
  CHECK_THAT(checked.out, ContainsSubstring("topic " + copies + ": min.insync.replicas is 1"));
  CHECK_THAT(checked.out, ContainsSubstring("topic " + orders + ": min.insync.replicas is 1"));
  CHECK_THAT(checked.out, !ContainsSubstring("topic " + dead + ": min.insync.replicas"));
}

TEST_CASE("check warns about settings of PostgreSQL that may lose events") {
  PrivatePostgres server{{"full_page_writes = off"}};  // and without fsync
  DaemonFixture fixture{1, server.url()};
  fixture.migrate();
  const auto checked = command(fixture.config, {"check"});
  CHECK(checked.status == ExitStatus{0, 0});
  CHECK_THAT(checked.out, ContainsSubstring("database: fsync is off"));
  CHECK_THAT(checked.out, ContainsSubstring("database: full_page_writes is off"));
  CHECK_THAT(checked.out, !ContainsSubstring("synchronous_commit is off"));
}
