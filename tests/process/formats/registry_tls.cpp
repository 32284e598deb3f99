// A schema registry over TLS.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "process/formats/avro_fixture.hpp"
#include "process/support/authority.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a registry over TLS gives its schemas to a daemon with a certificate, and check says why to no other") {
  AvroFixture fixture;
  const Authority authority, stranger;
  const auto own = authority.issue("registry"), client = authority.issue("client");
  const TempFolder folder;
  const std::string port_file = folder / "port", plain = fixture.registry.url();
  const Process proxy{{.arguments = {"python3", INBOXD_TLS_PROXY, port_file, plain.substr(plain.rfind(':') + 1),
                                     own.certificate, own.key, authority.certificate()}}};
  wait_until("the registry listens", [&] { return std::filesystem::exists(port_file); });
  const auto with = [&](const std::string& ca, const std::string& more) {
    std::string topic = fixture.topic_in_avro();
    return topic.replace(topic.find(plain), plain.size(),
                         "'https://127.0.0.1:" + read_file(port_file) + "', tls: {ca: '" + ca + "'" + more + "}");
  };
  const auto check = [&](const std::string& topic) {
    fixture.config.topics = {topic};
    return command(fixture.config, {"check"}).out;
  };
  fixture.migrate();
  CHECK_THAT(check(with(stranger.certificate(), "")), ContainsSubstring("registry https://127.0.0.1:") &&
                                                          ContainsSubstring("SSL certificate problem") &&
                                                          ContainsSubstring("registry.tls.ca is the authority"));
  CHECK_THAT(check(with(authority.certificate(), "")), ContainsSubstring("tls.key are yours"));
  const std::string pair = ", certificate: '" + client.certificate + "', key: '" + client.key + "'";
  CHECK_THAT(check(with(authority.certificate(), pair)), !ContainsSubstring("problem"));
  const auto daemon = fixture.start();
  fixture.produce_orders(3);
  fixture.wait_rows(3);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
