// `inboxd init` against listeners with TLS and logins.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "process/connections/secure_kafka.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A topic behind a listener, and a folder to run `init` in, which writes into its folder `made`.
struct SecureInit {
  SecureKafka& server = SecureKafka::shared();
  Database database;
  std::string topic = random_name("topic");
  TempFolder folder;

  SecureInit() {
    server.set_password("right");
    server.kafka().create_topic(1, topic);
    server.kafka().produce({Message{.topic = topic, .payload = "{}"}});
    std::filesystem::create_directory(folder / "made");
    write_file(folder / "password", "right\n");
    write_file(folder / "wrong", "mistaken\n");
  }
  std::string file() const { return folder / "made/inboxd.yaml"; }

  Finished init(const std::string& listener, const SecureKafka::Properties& properties) const {
    std::string line = "cd '" + folder.path().string() + "' && exec '" + daemon_program() +
                       "' init --out made/inboxd.yaml --topic " + topic + " --database '" + database.url() +
                       "' --brokers " + server.address_of(listener);
    for (const auto& [name, value] : properties) line += " --kafka-property '" + name + "=" + value + "'";
    return run_to_end({{"bash", "-c", line}, {{"KAFKA_PASSWORD", "right"}}});
  }
  /// The new file works from another working directory, and has no secret.
  void check_works(const Finished& made) {
    INFO(made.out << made.err);
    REQUIRE(made.status == ExitStatus{0, 0});
    CHECK_THAT(made.out, ContainsSubstring("looked at 1 records of 1 partition"));
    const std::string text = read_file(file());
    CHECK_THAT(text, !ContainsSubstring("right"));
    const auto at = text.find("\nkafka:");
    write_file(file(), text.substr(0, at) + "\n  schema: " + database.schema() + text.substr(at) +
                           "admin: {listen: off}\n");
    const std::map<std::string, std::string> environment{{"KAFKA_PASSWORD", "right"}};
    CHECK(run_to_end({{daemon_program(), "--config", file(), "migrate"}, environment}).status == ExitStatus{0, 0});
    const auto checked = run_to_end({{daemon_program(), "--config", file(), "check"}, environment});
    INFO(checked.out << checked.err);
    CHECK(checked.status == ExitStatus{0, 0});
    std::filesystem::remove(file());
  }
  /// A single line with the remedy; no file.
  void check_refused(const Finished& made, int status, const std::string& message) {
    INFO(made.err);
    CHECK(made.status == ExitStatus{status, 0});
    CHECK_THAT(made.err, ContainsSubstring(message) && ContainsSubstring("--kafka-property NAME=VALUE") &&
                             ContainsSubstring("no file was written") && !ContainsSubstring("mistaken"));
    CHECK(made.err.find('\n') == made.err.size() - 1);
    CHECK_FALSE(std::filesystem::exists(file()));
  }
};

}  // namespace

TEST_CASE("init writes a login and certificates as they are, and secrets as references") {
  SecureInit test;
  auto login = test.server.scram("SCRAM-SHA-512");
  login["sasl.password"] = "file:password";
  const auto by_file = test.init("SCRAM", login);
  CHECK_THAT(read_file(test.file()), ContainsSubstring("sasl.password: {file: \"../password\"}"));
  test.check_works(by_file);
  login["sasl.password"] = "env:KAFKA_PASSWORD";
  test.check_works(test.init("SCRAM", login));
  test.check_works(test.init("MTLS", test.server.certificate(test.server.authority.issue("client"))));
}

TEST_CASE("init says in a line why a listener refuses it, with the remedy") {
  SecureInit test;
  auto login = test.server.scram("SCRAM-SHA-512");
  login["sasl.password"] = "file:wrong";
  test.check_refused(test.init("SCRAM", login), 77,
                     "the broker refuses user app (SCRAM-SHA-512): correct sasl.username");
  login["sasl.password"] = "file:password";
  const Authority stranger;
  login["ssl.ca.location"] = stranger.certificate();
  test.check_refused(test.init("SCRAM", login), 77, "set ssl.ca.location in kafka.properties");
  test.check_refused(test.init("SCRAM", {}), 69, "as a listener with TLS does to a client in plaintext");
}
