// The admin port in TLS: handshakes by Python's client, certificates of clients, renewed files.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "process/support/admin_fixture.hpp"
#include "process/support/authority.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Prints the common name of the server's certificate, the status and the body.
constexpr const char* client = R"(
import http.client, ssl, sys
port, path, authority, certificate, key = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
if certificate: context.load_cert_chain(certificate, key)
connection = http.client.HTTPSConnection("localhost", int(port), context=context, timeout=30)
connection.request("GET", path)
answer = connection.getresponse()
print(dict(name[0] for name in connection.sock.getpeercert()["subject"])["commonName"], answer.status)
sys.stdout.write(answer.read().decode())
)";

/// The client's output; without an answer, the reason.
std::string ask_in_tls(int port, const std::string& path, const Authority& authority,
                       const Authority::Pair& own = {}) {
  const auto finished = run_to_end({.arguments = {"python3", "-c", client, std::to_string(port), path,
                                                  authority.certificate(), own.certificate, own.key}});
  return finished.status == ExitStatus{0, 0} ? finished.out : "no answer: " + finished.err;
}

std::string tls(const Authority::Pair& pair, const std::string& more = "") {
  return ", tls: {certificate: " + pair.certificate + ", key: " + pair.key + more + "}";
}

/// Takes the place of the file at once, as an operator's tools do.
void replace(const std::string& file, const std::string& by) {
  std::filesystem::copy_file(by, file + ".new");
  std::filesystem::rename(file + ".new", file);
}

}  // namespace

TEST_CASE("with admin.tls the port serves https, the command line uses it, and plain HTTP gets no answer") {
  const Authority authority;
  const auto server = authority.issue("server");
  AdminFixture admin{1, ", receive_timeout: 500ms" + tls(server)};
  auto daemon = admin.start();
  CHECK(ask_in_tls(admin.port, "/livez", authority).starts_with("server 200\n{\"is_well\":true"));
  CHECK((ask_in_tls(admin.port, "/openapi.json", authority) == "server 200\n" + read_file("config/openapi.json")));
  CHECK_THAT(ask_in_tls(admin.port, "/livez", Authority{}), ContainsSubstring("CERTIFICATE_VERIFY_FAILED"));

  RawConnection plain{admin.port};
  plain.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(plain.receive().status == 0);
  RawConnection slow{admin.port};  // never ends its handshake
  slow.send("\x16\x03\x01");
  CHECK(slow.ends(milliseconds{5'000}));

  CHECK(command(admin.config, {"health"}).status == ExitStatus{0, 0});
  CHECK(command(admin.config, {"instance", "show"}).status == ExitStatus{0, 0});
  CHECK(command(admin.config, {"instance", "pause", "--yes"}).status == ExitStatus{0, 0});
  CHECK(nlohmann::json::parse(command(admin.config, {"instance", "show", "--json"}).out).at("paused") == true);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("the command line sends nothing to a server without the configured certificate") {
  const Authority authority;
  AdminFixture admin{1, tls(authority.issue("server"))};
  auto daemon = admin.start();
  auto other = admin.config;
  other.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(admin.port) + "', token: " + token +
                            tls(authority.issue("other"));  // by the same authority
  const auto refused = command(other, {"instance", "pause", "--yes"});
  CHECK(refused.status == ExitStatus{69, 0});
  CHECK_THAT(refused.err, ContainsSubstring("public key does not match"));
  CHECK(command(other, {"health"}).status == ExitStatus{1, 0});
  CHECK(command(admin.config, {"health"}).status == ExitStatus{0, 0});
}

TEST_CASE("with admin.tls.client_ca only clients with a certificate of that authority get an answer") {
  const Authority authority, clients;
  const auto server = authority.issue("server");
  AdminFixture admin{1, tls(server, ", client_ca: " + clients.certificate())};
  auto daemon = admin.start();
  CHECK_THAT(ask_in_tls(admin.port, "/livez", authority), ContainsSubstring("certificate required"));
  const auto stranger = authority.issue("stranger");
  CHECK_THAT(ask_in_tls(admin.port, "/livez", authority, stranger), ContainsSubstring("no answer") &&
                                                                       ContainsSubstring("alert"));
  CHECK(ask_in_tls(admin.port, "/livez", authority, clients.issue("prometheus")).starts_with("server 200"));
  // The command line shows the port's own certificate, which is of another authority.
  CHECK(command(admin.config, {"health"}).status == ExitStatus{0, 0});
  CHECK(command(admin.config, {"instance", "pause", "--yes"}).status == ExitStatus{0, 0});
}

TEST_CASE("a renewed certificate is used by the next connection; files that do not fit leave the old one in use") {
  const Authority authority;
  const auto server = authority.issue("server"), renewed = authority.issue("renewed");
  AdminFixture admin{1, tls(server)};
  auto daemon = admin.start();
  CHECK(ask_in_tls(admin.port, "/livez", authority).starts_with("server 200"));
  replace(server.key, renewed.key);
  CHECK(ask_in_tls(admin.port, "/livez", authority).starts_with("server 200"));
  daemon->wait_log("kind=admin.certificate_unusable");
  replace(server.certificate, renewed.certificate);
  CHECK(ask_in_tls(admin.port, "/livez", authority).starts_with("renewed 200"));
  daemon->wait_log("kind=admin.certificate_renewed");
  CHECK(command(admin.config, {"health"}).status == ExitStatus{0, 0});
  CHECK(daemon->count_in_log("kind=admin.certificate_unusable") == 1);
}

TEST_CASE("check and a start name the file of admin.tls that the port cannot use") {
  const Authority authority;
  const auto server = authority.issue("server"), other = authority.issue("other");
  AdminFixture admin{1, tls({server.certificate, other.key})};
  const auto checked = command(admin.config, {"check"});
  CHECK(checked.status != ExitStatus{0, 0});
  CHECK_THAT(checked.out, ContainsSubstring("admin.tls.key: " + other.key + ": key values mismatch"));
  DaemonProcess daemon{admin.config};
  CHECK(daemon.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(daemon.log(), ContainsSubstring("admin.tls.key"));
}
