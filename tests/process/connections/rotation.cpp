// Authorities that change while a daemon runs. All its clients take part: the consumer, the relay of the
// outbox, handler `kafka`.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "process/connections/secure_kafka.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

struct Streams {
  Streams(SecureKafka& broker, const std::string& listener, const SecureKafka::Properties& properties)
      : server{broker} {
    server.serve(fixture, listener, properties);
    for (const std::string& topic : {fixture.topic, copies, published}) server.kafka().create_topic(1, topic);
    fixture.config.handlers.push_back(HandlerText{.name = "copy", .plugin = "kafka", .settings = {{"topic", copies}}});
    fixture.config.sections["outbox"] = "retry: 1s";
    fixture.migrate();
  }

  void send(int count) {
    fixture.produce_through(server.kafka(), count);
    fixture.database.run("select inbox.publish($1, 'k' || i, '{}'::jsonb) from generate_series(1, $2::int) i",
                         {published, std::to_string(count)});
    sent += count;
  }
  void wait_passed() {
    CHECK(fixture.wait_done().is_perfect());
    CHECK(fixture.wait_done("copy").is_perfect());
    wait_until("the outbox is published", [&] { return server.kafka().ends(published).at(0) >= sent; });
    CHECK(server.kafka().ends(published).at(0) == sent);
    CHECK(server.kafka().ends(copies).at(0) == sent);
  }
  void pass(int count) {
    send(count);
    wait_passed();
  }

  SecureKafka& server;
  DaemonFixture fixture{1};
  const std::string copies = random_name("copies"), published = random_name("published");
  int sent = 0;
};

/// As programs that renew a secret do it.
void replace(const std::filesystem::path& file, const std::string& text) {
  const auto fresh = file.string() + ".new";
  write_file(fresh, text);
  std::filesystem::rename(fresh, file);
}

}  // namespace

TEST_CASE("a broker with a certificate of a new authority is trusted once the file of ssl.ca.location is replaced") {
  SecureKafka& server = SecureKafka::shared();
  server.set_password("right");
  const TempFolder folder;
  const auto trusted = folder / "ca.pem";
  replace(trusted, read_file(server.authority.certificate()));
  auto properties = server.scram("SCRAM-SHA-512");
  properties["sasl.password"] = "right";
  properties["ssl.ca.location"] = trusted.string();
  Streams streams{server, "SCRAM", properties};
  const auto daemon = streams.fixture.start();
  streams.pass(10);
  const Authority next;
  server.present(next);
  daemon->wait_log("certificate verify failed");
  streams.send(10);
  replace(trusted, read_file(next.certificate()));
  streams.wait_passed();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  server.present(server.authority);
}
