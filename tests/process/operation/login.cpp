#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>

#include "process/support/daemon_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A server that asks every role but its superuser and `ghost` for a password. `ghost` does not exist.
class GuardedServer final {
 public:
  GuardedServer() {
    std::filesystem::permissions(rules_, std::filesystem::perms{0644});
    server_.emplace(std::vector<std::string>{"hba_file = '" + rules_ + "'"});
    if (in_german(server_->url())) server_->configure("lc_messages = 'de_DE.UTF-8'");
    Session{server_->url(), "inbox"}.run("create role app superuser login password 'right'");
    Session{server_->url(), "inbox"}.run("create role walled login password 'right'");
    Session{server_->url(), "inbox"}.run("revoke connect on database postgres from public");
    Session{server_->url(), "inbox"}.run("create database latin template template0 encoding 'LATIN1' locale 'C'");
  }

  std::string url() const { return server_->url(); }
  std::string url_of(const std::string& login, const std::string& database = "postgres") const {
    return "postgresql://" + login + "@127.0.0.1:" + std::to_string(server_->port()) + "/" + database;
  }

 private:
  const TempFolder folder_;
  const std::string rules_ = [&] {
    const auto file = folder_ / "rules";
    write_file(file,
               "host all postgres 127.0.0.1/32 trust\nhost all ghost 127.0.0.1/32 trust\n"
               "host all all 127.0.0.1/32 scram-sha-256\n");
    return file.string();
  }();
  std::optional<PrivatePostgres> server_;
};

}  // namespace

TEST_CASE("a refused login or database ends a command or start with the reason, not as unreachable") {
  GuardedServer server;
  DaemonFixture fixture{1, server.url()};
  struct Case {
    std::string url;
    int status;
    std::string named;
  };
  const std::vector<Case> cases{{server.url_of("app:wrong"), 77, "not allowed"},
                                {server.url_of("app"), 77, "not allowed"},
                                {server.url_of("ghost"), 77, "\"ghost"},
                                {server.url_of("walled:right"), 77, "use a role with "},
                                {server.url_of("app:right", "nothere"), 78, "\"nothere"},
                                {server.url_of("app:right", "latin"), 78, "its encoding is LATIN1"}};
  for (const Case& each : cases) {
    fixture.config.url = each.url;
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"status"}, {"migrate"}, {"migrate", "--check"}, {"dead", "list"}, {"run"}, {"run", "--migrate"}}) {
      const auto ended = command(fixture.config, arguments);
      CAPTURE(each.url, arguments, ended.out, ended.err);
      CHECK(ended.status == ExitStatus{each.status, 0});
      CHECK_THAT(ended.err, ContainsSubstring(each.named) && !ContainsSubstring("wrong@"));
    }
    const auto checked = command(fixture.config, {"check"});
    CHECK(checked.status == ExitStatus{each.status == 77 ? 77 : 1, 0});
    CHECK_THAT(checked.out, ContainsSubstring(each.named));
    CHECK_THAT(checked.out, ContainsSubstring("user=" + each.url.substr(13, each.url.find_first_of(":@", 13) - 13)));
  }
  fixture.config.url = "postgresql://app@127.0.0.1:" + std::to_string(free_port()) + "/postgres";
  CHECK(command(fixture.config, {"status"}).status == ExitStatus{69, 0});
}

TEST_CASE("a daemon whose password was changed retries until it is right again") {
  GuardedServer server;
  DaemonFixture fixture{1, server.url()};
  fixture.config.url = server.url_of("app:right");
  const auto daemon = fixture.start();
  fixture.produce(5);
  fixture.wait_done();
  fixture.database.run("alter role app password 'other'");
  fixture.database.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'");
  fixture.produce(5);
  daemon->wait_log("app\\\"");
  CHECK(daemon->process().is_running());
  fixture.database.run("alter role app password 'right'");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

// fault: secrets under any name, from any form
TEST_CASE("a rotated password is read again for each new session, without a restart") {
  GuardedServer server;
  DaemonFixture fixture{1, server.url()};
  const TempFolder folder;
  const auto secret = folder / "password";
  std::string before = "right", after = "other";
  SECTION("alone in its file") {
    fixture.config.url = server.url_of("app");
    fixture.config.sections["database"] = "password: {file: " + secret.string() + "}";
  }
  SECTION("in a file with the URL") {
    before = server.url_of("app:right");
    after = server.url_of("app:other");
    fixture.config.url = "{file: " + secret.string() + "}";
  }
  write_file(secret, before + "\n");
  const auto daemon = fixture.start();
  fixture.produce(5);
  fixture.wait_done();
  fixture.database.run("alter role app password 'other'");
  write_file(secret, after + "\n");
  fixture.database.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'");
  fixture.produce(5);
  CHECK(fixture.wait_done().is_perfect());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("daemon: reloaded");
  CHECK(daemon->count_in_log("needs a restart") == 0);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
