// Tokens and authorities that change while a daemon runs. All its clients take part: the consumer, the relay of the
// outbox, handler `kafka`.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "process/connections/secure_kafka.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

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

/// Writes a new token each half second.
class Renewal final {
 public:
  static constexpr auto lifetime = 6s;
  explicit Renewal(const std::filesystem::path& file) {
    replace(file, SecureKafka::token(lifetime) + "\n");
    thread_ = std::jthread{[this, file](const std::stop_token& stop) {
      std::mutex mutex;
      std::unique_lock lock{mutex};
      while (!wake_.wait_for(lock, stop, 500ms, [&] { return stop.stop_requested(); })) {
        replace(file, SecureKafka::token(lifetime) + "\n");
      }
    }};
  }

 private:
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace

TEST_CASE("events pass beyond the end of a file's token, wait while it is missing or expired, and lose nothing") {
  SecureKafka& server = SecureKafka::shared();
  const TempFolder folder;
  const auto file = folder / "token";
  Streams streams{server, "OAUTH", server.token_file(file.string())};
  const auto refusal = [&] {
    const auto checked = command(streams.fixture.config, {"check"});
    INFO(checked.out << checked.err);
    CHECK(checked.status == ExitStatus{77, 0});
    return checked.out;
  };
  const std::string remedy = "let the program that renews the token write the file " + file.string();
  CHECK_THAT(refusal(), ContainsSubstring("sasl.oauthbearer.token.file cannot be read: No such file") &&
                            ContainsSubstring(remedy));

  std::optional<Renewal> renewal{file};
  const auto daemon = streams.fixture.start();
  const auto end_of_two = std::chrono::steady_clock::now() + 2 * Renewal::lifetime;
  do streams.pass(2);
  while (std::chrono::steady_clock::now() < end_of_two);

  renewal.reset();
  std::string last = read_file(file);
  last.pop_back();
  const auto end = std::chrono::steady_clock::now() + Renewal::lifetime;
  wait_until("the last token ends", [&] { return std::chrono::steady_clock::now() > end; });
  daemon->wait_log("token.file expired at");
  streams.send(10);
  CHECK_THAT(refusal(), ContainsSubstring("token.file expired at 20") && ContainsSubstring(remedy));
  replace(file, SecureKafka::token(1h));
  streams.wait_passed();
  CHECK(command(streams.fixture.config, {"check"}).status == ExitStatus{0, 0});
  const auto shown = command(streams.fixture.config, {"config", "show"}).out;
  CHECK_THAT(daemon->log() + shown, !ContainsSubstring(last));
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

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
