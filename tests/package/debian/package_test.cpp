// The Debian packages and the unit under a real systemd: install, start, reload, watchdog, upgrade, remove, purge.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "package/support/machine.hpp"
#include "package/support/packages.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string unit = "inboxd.service";

/// The packages of this build under two versions, built once for all tests.
struct BuiltPackages {
  TempFolder folder;
  Packages older = make_packages(folder / "older", "0.0.1");
  Packages newer = make_packages(folder / "newer", "9.9.9");
};

const BuiltPackages& built_packages() {
  static const BuiltPackages once;
  return once;
}

/// A machine with the dependencies of the daemon's package and a bus (systemd-run waits by it), and a topic and schema
/// for its service.
struct ServiceFixture {
  ServiceFixture() : machine{with_the_usual(dependencies_of(built_packages().older.daemon))} {
    fixture.config.handlers[0].plugin = "log";
    fixture.config.handlers[0].settings.clear();
    fixture.migrate();  // before the file needs a credential, which only the unit gets
    fixture.config.sections["log"] = "level: info";
    fixture.config.sections["admin"] =
        "listen: '127.0.0.1:" + std::to_string(port) + "', token: {credential: admin-token}";
  }

  static std::vector<std::string> with_the_usual(std::vector<std::string> packages) {
    packages.insert(packages.end(), {"ca-certificates", "dbus"});
    return packages;
  }

  void install(const fs::path& package) {
    fs::copy_file(package, machine / "root/inboxd.deb", fs::copy_options::overwrite_existing);
    output = machine.must({"apt-get", "install", "--yes", "--no-install-recommends", "--allow-downgrades", "--option",
                           "Dpkg::Options::=--force-confold", "/root/inboxd.deb"},
                          milliseconds{120'000});
  }
  void configure(const std::string& name = "inboxd") {
    write_file(machine / ("etc/inboxd/" + name + ".yaml"), fixture.config.text());
    fs::create_directories(machine / "etc/credstore");
    const std::string credential = name == "inboxd" ? "inboxd.admin-token" : "inboxd-" + name + ".admin-token";
    write_file(machine / ("etc/credstore/" + credential), "from-credstore\n");
  }
  void configure_and_start() {
    configure();
    machine.must({"systemctl", "start", unit});
  }
  std::string state(const std::string& of = unit) { return machine.property(of, "ActiveState"); }
  int pause_and_resume(const std::string& token) {
    int status = 0;
    for (const char* const verb : {"pause", "resume"}) {
      status = post(port, std::string{"/v1/instance/"} + verb, "{}",
                    {"Content-Type: application/json", "Authorization: Bearer " + token})
                   .status;
    }
    return status;
  }

  DaemonFixture fixture{1};
  const int port = free_port();
  std::string output;
  Machine machine;
};

/// The message id of a kind of log line.
std::string message_id_of(const std::string& kind) {
  const std::string text = read_file(source_file("config/messages.md"));
  const auto at = text.find("| `" + kind + "` | ");
  if (at == std::string::npos) throw std::runtime_error{"config/messages.md has no row: " + kind};
  const std::string after = "` |\n";
  return text.substr(text.find(after, at) - 32, 32);
}

/// The line of a document with this beginning.
std::string line_of(const std::string& text, const std::string& beginning) {
  const auto at = text.find("\n" + beginning);
  if (at == std::string::npos) throw std::runtime_error{"no line begins with " + beginning};
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("installed without a configuration the unit is enabled and not started; after purge nothing is left") {
  ServiceFixture service;
  Machine& machine = service.machine;
  service.install(built_packages().newer.daemon);
  CHECK_THAT(service.output, ContainsSubstring("inboxd is not configured"));
  CHECK(machine.must({"systemctl", "is-enabled", unit}) == "enabled");
  CHECK(service.state() == "inactive");
  CHECK(machine.property(unit, "ConditionResult") == "no");
  CHECK_THAT(machine.must({"inboxd", "version"}), ContainsSubstring("inboxd"));
  CHECK_THAT(machine.must({"inboxd", "plugin", "check", "log"}), ContainsSubstring("/usr/lib/inboxd/log.so"));
  const auto verified = machine.run({"systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/inboxd.service",
                                     "/usr/lib/systemd/system/inboxd@.service"});
  CHECK(verified.out + verified.err == "");  // complaints go to stderr, with status 0
  CHECK(machine.succeeds({"systemd-analyze", "security", "--threshold=15", unit}));
  CHECK(machine.must({"dpkg", "--verify", "inboxd"}).empty());
  CHECK_THAT(machine.must({"dpkg-query", "--show", "--showformat", "${Conffiles}", "inboxd"}),
             ContainsSubstring("/etc/default/inboxd"));

  machine.must({"apt-get", "purge", "--yes", "inboxd"});
  fs::remove(machine / "root/inboxd.deb");
  CHECK(machine.must({"find", "/etc", "/usr", "/var", "/root", "-xdev", "-name", "*inboxd*"}).empty());
  CHECK(machine.must({"systemctl", "show", "--property", "LoadState", "--value", unit}) == "not-found");
}

TEST_CASE("the unit runs in a real systemd: ready, credentials, user, reload, watchdog, stop") {
  ServiceFixture service;
  Machine& machine = service.machine;
  service.install(built_packages().newer.daemon);
  fs::create_directories(machine / "etc/systemd/system/inboxd.service.d");
  write_file(machine / "etc/systemd/system/inboxd.service.d/test.conf",
             "[Service]\nWatchdogSec=2s\nRestartSec=100ms\n");
  machine.must({"systemctl", "daemon-reload"});
  service.configure_and_start();
  INFO(machine.journal(unit));
  CHECK(service.state() == "active");  // Type=notify: the daemon reported it
  // In the journal's native format: a line on stderr would have no fields.
  CHECK_THAT(machine.must({"journalctl", "--no-pager", "--output", "json", "--unit", unit,
                           "MESSAGE_ID=" + message_id_of("daemon.started")}),
             ContainsSubstring("\"TOPICS\":\"1\""));
  service.fixture.produce(50);
  CHECK(service.fixture.wait_done().is_perfect());
  CHECK(service.pause_and_resume("wrong") == 401);
  CHECK(service.pause_and_resume("from-credstore") == 200);
  const std::string process = machine.property(unit, "MainPID");
  CHECK(machine.must({"stat", "--format", "%U", "/proc/" + process}) != "root");
  CHECK_THAT(machine.must({"cat", "/proc/" + process + "/status"}), ContainsSubstring("CapBnd:\t0000000000000000"));

  const std::string niceness = "for task in /proc/" + process +
                               "/task/*; do case $(cat $task/comm) in admin*) "
                               "sed 's/.*) //' $task/stat | cut -d ' ' -f 17 ;; esac; done | sort -u";
  CHECK(machine.must({"sh", "-c", niceness}) == "10");  // the admin port has lower priority

  const std::string good = service.fixture.config.text();
  write_file(machine / "etc/inboxd/inboxd.yaml", "bogus: true\n");
  CHECK_FALSE(machine.succeeds({"systemctl", "reload", unit}));
  CHECK_THAT(machine.journal(unit), !ContainsSubstring("kind=daemon.reload_refused"));  // the daemon was not signalled
  write_file(machine / "etc/inboxd/inboxd.yaml", good);
  machine.must({"systemctl", "reload", unit});
  wait_until("the daemon has reloaded",
             [&] { return machine.journal(unit).find("kind=daemon.reloaded") != std::string::npos; });
  CHECK(machine.property(unit, "MainPID") == process);

  machine.must({"kill", "-STOP", process});
  wait_until("the watchdog has had it started again",
             [&] { return machine.property(unit, "NRestarts") == "1" && service.state() == "active"; });
  CHECK(machine.property(unit, "MainPID") != process);
  service.fixture.produce(50);
  CHECK(service.fixture.wait_done().is_perfect());

  machine.must({"systemctl", "stop", unit});
  CHECK(machine.property(unit, "Result") == "success");
  CHECK_THAT(machine.journal(unit), ContainsSubstring("kind=daemon.stopped"));
}

TEST_CASE("while the service is down a command gets credentials as README shows, and names missing credentials") {
  ServiceFixture service;
  Machine& machine = service.machine;
  service.install(built_packages().newer.daemon);
  service.fixture.config.sections["database"] = "password: {credential: pg-password}";
  service.fixture.config.sections["admin"] = "listen: off";
  service.configure();
  write_file(machine / "etc/credstore/inboxd.pg-password", "from-credstore\n");
  const auto refused = machine.run({"inboxd", "migrate"});
  CHECK(refused.status == ExitStatus{78, 0});
  CHECK_THAT(refused.err, ContainsSubstring("systemd-run --pipe --wait "
                                            "-p LoadCredential=pg-password:/etc/credstore/inboxd.pg-password inboxd"));
  const std::string shown =
      line_of(read_file(machine / "usr/share/doc/inboxd/config/systemd/README.md"), "systemd-run ");
  CHECK_THAT(shown, ContainsSubstring(" inboxd migrate"));
  CHECK_NOTHROW(machine.must({"sh", "-c", shown}));
  machine.must({"systemctl", "start", unit});
  CHECK(service.state() == "active");
}

TEST_CASE("a just-in-time compiler is refused executable memory, until the drop-in allows it") {
  ServiceFixture service;
  Machine& machine = service.machine;
  service.install(built_packages().newer.daemon);
  fs::create_directories(machine / "usr/local/lib/inboxd");
  fs::copy_file(own_plugin("compiles"), machine / "usr/local/lib/inboxd/compiles.so");
  service.fixture.config.handlers[0].plugin = "/usr/local/lib/inboxd/compiles.so";
  service.configure();
  CHECK_FALSE(machine.succeeds({"systemctl", "start", unit}));
  CHECK(service.state() == "failed");  // status 78 is not restarted
  CHECK_THAT(machine.journal(unit), ContainsSubstring("no memory for code: Operation not permitted"));

  fs::create_directories(machine / "etc/systemd/system/inboxd.service.d");
  fs::copy_file(machine / "usr/share/doc/inboxd/config/systemd/jit.conf",
                machine / "etc/systemd/system/inboxd.service.d/jit.conf");
  machine.must({"systemctl", "daemon-reload"});
  machine.must({"systemctl", "start", unit});
  CHECK(service.state() == "active");
}

TEST_CASE("an upgrade keeps edited files and runs the new version; remove stops it, purge leaves nothing") {
  ServiceFixture service;
  Machine& machine = service.machine;
  service.install(built_packages().older.daemon);
  service.configure_and_start();
  service.configure("second");
  machine.must({"sed", "-i", "s|listen: '[^']*'|listen: off, socket: /run/inboxd-second/admin.sock|",
                "/etc/inboxd/second.yaml"});
  machine.must({"systemctl", "enable", "--quiet", "--now", "inboxd@second.service"});
  CHECK(service.state("inboxd@second.service") == "active");
  CHECK(machine.succeeds({"test", "-S", "/run/inboxd-second/admin.sock"}));
  const std::string before = machine.property(unit, "MainPID");
  const std::string second_before = machine.property("inboxd@second.service", "MainPID");
  write_file(machine / "etc/default/inboxd", "INBOXD_OPTIONS=--migrate\n");

  service.install(built_packages().newer.daemon);
  INFO(machine.journal(unit));
  CHECK(machine.must({"dpkg-query", "--show", "--showformat", "${Version}", "inboxd"}) == "9.9.9");
  CHECK(read_file(machine / "etc/default/inboxd") == "INBOXD_OPTIONS=--migrate\n");
  CHECK(service.state() == "active");
  CHECK(service.state("inboxd@second.service") == "active");
  CHECK(machine.property(unit, "MainPID") != before);
  CHECK(machine.property("inboxd@second.service", "MainPID") != second_before);
  service.fixture.produce(50);
  CHECK(service.fixture.wait_done().is_perfect());

  machine.must({"apt-get", "remove", "--yes", "inboxd"});
  CHECK(service.state() == "inactive");
  service.install(built_packages().newer.daemon);
  CHECK(service.state() == "active");  // its configuration is kept

  machine.must({"systemctl", "disable", "--quiet", unit});
  service.install(built_packages().older.daemon);
  CHECK_FALSE(machine.succeeds({"systemctl", "is-enabled", unit}));  // the operator's choice is kept

  machine.must({"apt-get", "remove", "--yes", "inboxd"});
  CHECK(service.state() == "inactive");
  CHECK(service.state("inboxd@second.service") == "inactive");
  CHECK(fs::exists(machine / "etc/inboxd/inboxd.yaml"));
  CHECK(fs::exists(machine / "etc/default/inboxd"));
  fs::create_directories(machine / "etc/credstore.encrypted");
  for (const char* const credential : {"inboxd.pg-password", "inboxd-second.pg-password"}) {
    write_file(machine / "etc/credstore.encrypted" / credential, "as systemd-creds encrypts it\n");
  }
  machine.must({"apt-get", "purge", "--yes", "inboxd"});
  fs::remove(machine / "root/inboxd.deb");
  CHECK(
      machine
          .must({"find", "/etc", "/usr", "/var", "/root", "-xdev", "-name", "*inboxd*", "-not", "-path", "/var/log/*"})
          .empty());
}

TEST_CASE("an instance whose database is down is restarted until the database is back") {
  ServiceFixture service;
  Machine& machine = service.machine;
  service.install(built_packages().newer.daemon);
  const std::string second = "inboxd@second.service";
  Proxy proxy{port_of(service.fixture.config.url)};
  proxy.refuse(true);
  service.fixture.config.url = url_with_port(service.fixture.config.url, proxy.port());
  service.fixture.config.sections["database"] = "deadline: 1s";
  service.configure("second");
  fs::create_directories(machine / "etc/systemd/system/inboxd@.service.d");
  write_file(machine / "etc/systemd/system/inboxd@.service.d/test.conf", "[Service]\nRestartSec=100ms\n");
  machine.must({"systemctl", "daemon-reload"});
  machine.must({"systemctl", "start", "--no-block", second});
  wait_until("it was started again", [&] { return std::stoi(machine.property(second, "NRestarts")) >= 2; });
  CHECK(service.state(second) == "activating");
  CHECK_THAT(machine.journal(second),
             ContainsSubstring("kind=daemon.waiting_for_database") && ContainsSubstring("status=69"));
  proxy.refuse(false);
  wait_until("it runs", [&] { return service.state(second) == "active"; });
  service.fixture.produce(50);
  CHECK(service.fixture.wait_done().is_perfect());
}

TEST_CASE("the development package can build a handler and contains no program") {
  const std::string files = must({"dpkg-deb", "--contents", built_packages().newer.development});
  for (const char* const file : {"./usr/include/inboxd/handler.h", "./usr/include/inboxd/handler.hpp",
                                 "./usr/lib/cmake/inboxd/inboxdConfig.cmake"}) {
    CHECK_THAT(files, ContainsSubstring(file));
  }
  CHECK_THAT(files, !ContainsSubstring("/usr/bin"));
  const std::string daemon = must({"dpkg-deb", "--contents", built_packages().newer.daemon});
  CHECK_THAT(daemon, !ContainsSubstring("/usr/include"));
  CHECK_THAT(daemon, !ContainsSubstring("build/"));
}
