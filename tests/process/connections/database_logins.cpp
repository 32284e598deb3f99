// Logins of PostgreSQL over TLS: passwords and client certificates, rotated and refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "process/connections/secure_postgres.hpp"
#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The files that a daemon's URL names, replaced at once as an operator's tools do.
class ClientFiles final {
 public:
  ClientFiles(const Authority& authority, const Authority::Pair& pair) { replace(authority, pair); }

  void replace(const Authority& authority, const Authority::Pair& pair) const {
    place(authority.certificate(), "root.pem");
    place(pair.certificate, "client.pem");
    place(pair.key, "client.key");
  }
  std::string options() const {
    return verified() + "&sslcert=" + path("client.pem") + "&sslkey=" + path("client.key");
  }
  std::string verified() const { return "sslmode=verify-full&sslrootcert=" + path("root.pem"); }

 private:
  std::string path(const char* name) const { return (folder_ / name).string(); }
  void place(const std::string& from, const char* name) const {
    const auto made = folder_ / (std::string{name} + ".new");
    std::filesystem::copy_file(from, made);
    std::filesystem::permissions(made, std::filesystem::perms{0600});
    std::filesystem::rename(made, folder_ / name);
  }

  const TempFolder folder_;
};

}  // namespace

TEST_CASE("events are stored through verify-full and a client certificate; a new authority on both sides loses none") {
  const Authority authority, next;
  SecurePostgres server{authority, authority.issue("server")};
  const ClientFiles files{authority, authority.issue("app")};
  DaemonFixture fixture{1, server.url()};
  fixture.config.url = server.url_of("app", files.options());
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number(
            "select count(*) from pg_stat_ssl s join pg_stat_activity a using (pid) where a.usename = 'app' and "
            "(not s.ssl or s.client_dn is distinct from '/CN=app')") == 0);
  server.change(next, next.issue("server"));
  fixture.produce(20);
  daemon->wait_log("certificate verify failed");
  CHECK(daemon->process().is_running());
  files.replace(next, next.issue("app"));
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("a password rotated over TLS is read again for each session") {
  const Authority authority;
  SecurePostgres server{authority, authority.issue("server")};
  server.set_password("first");
  const ClientFiles files{authority, authority.issue("none")};
  const TempFolder folder;
  const auto secret = folder / "password";
  write_file(secret, "first\n");
  DaemonFixture fixture{1, server.url()};
  fixture.config.url = server.url_of("keyed", files.verified());
  fixture.config.sections["database"] = "password: {file: " + secret.string() + "}";
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  server.set_password("second");
  fixture.produce(20);
  daemon->wait_log("password authentication failed");
  write_file(secret, "second\n");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("a certificate, authority or sslmode that does not fit ends a command with 77 and the setting to mend") {
  const Authority authority, other;
  SecurePostgres server{authority, authority.issue("server")};
  server.set_password("right");
  const PrivatePostgres without_tls;
  DaemonFixture fixture{1, server.url()};
  fixture.migrate();
  const ClientFiles right{authority, authority.issue("app")}, wrong_authority{other, authority.issue("app")},
      stranger{authority, other.issue("app")}, named_otherwise{authority, authority.issue("else")},
      expired{authority, authority.issue("app", std::chrono::seconds{-60})};
  const std::string authority_remedy = "set sslrootcert in database.url",
                    certificate_remedy = "set sslcert and sslkey in database.url";
  struct Case {
    std::string url, named;
  };
  const std::vector<Case> cases{
      {server.url_of("app", wrong_authority.options()), authority_remedy},
      {server.url_of("app", "sslmode=verify-full&sslrootcert=/nowhere.pem"), authority_remedy},
      {server.url_of("app", right.options(), "0.0.0.0"), "use the host name of the server's certificate"},
      {server.url_of("app", right.verified()), certificate_remedy},
      {server.url_of("app", stranger.options()), certificate_remedy},
      {server.url_of("app", named_otherwise.options()), certificate_remedy},
      {server.url_of("app", expired.options()), certificate_remedy},
      {server.url_of("keyed:wrong", right.verified()), "correct the user in database.url or database.password"},
      {server.url_of("keyed:right", "sslmode=disable"), "the server wants TLS from this login: set sslmode"},
      {without_tls.url() + "?sslmode=require", "the server answers without TLS"}};
  for (const Case& each : cases) {
    fixture.config.url = each.url;
    const auto checked = command(fixture.config, {"check"});
    CAPTURE(each.url, checked.out);
    CHECK(checked.status == ExitStatus{77, 0});
    CHECK_THAT(checked.out, ContainsSubstring(each.named));
  }
  fixture.config.url = cases.front().url;  // to a start, no host that may answer soon
  const auto ended = command(fixture.config, {"run"});
  CHECK(ended.status == ExitStatus{77, 0});
  CHECK_THAT(ended.err, ContainsSubstring(cases.front().named));

  server.change(authority, authority.issue("server", std::chrono::seconds{-60}));
  fixture.config.url = server.url_of("app", right.options());
  const auto checked = command(fixture.config, {"check"});
  CHECK(checked.status == ExitStatus{77, 0});
  CHECK_THAT(checked.out, ContainsSubstring("renew an expired certificate"));
}

TEST_CASE("check warns of plaintext to another machine, not of sockets and loopback") {
  const Authority authority;
  SecurePostgres server{authority, authority.issue("server")};
  DaemonFixture fixture{1, server.url()};
  fixture.migrate();
  const std::string brokers = fixture.config.brokers;
  const std::string warning = "in plaintext: set s";
  auto checked = command(fixture.config, {"check"});
  CHECK(checked.status == ExitStatus{0, 0});
  CHECK_THAT(checked.out, !ContainsSubstring(warning));
  // Linux reaches this machine at 0.0.0.0, which is no loopback address.
  fixture.config.url = server.url_of("open", "sslmode=disable", "0.0.0.0");
  fixture.config.brokers = "0.0.0.0" + brokers.substr(brokers.find(':'));
  checked = command(fixture.config, {"check"});
  INFO(checked.out);
  CHECK(checked.status == ExitStatus{0, 0});
  CHECK_THAT(checked.out, ContainsSubstring("travel to 0.0.0.0 in plaintext: set sslmode=verify-full"));
  CHECK_THAT(checked.out, ContainsSubstring("travel to " + fixture.config.brokers + " in plaintext: set security."));
  fixture.config.url = server.url_of("open", "sslmode=require", "0.0.0.0");
  CHECK_THAT(command(fixture.config, {"check"}).out, ContainsSubstring("a false server in place of 0.0.0.0"));
}
