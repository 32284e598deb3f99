// The Debian packages and the unit, in a machine with a real systemd: installed, started, told to reload, wedged,
// upgraded, removed, purged.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "package/support/machine.hpp"
#include "package/support/made.hpp"
#include "process/support/stage.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string unit = "inboxd.service";

/// The packages of this build under two versions, made once for all tests.
struct Made {
  TempFolder folder;
  Packages older = make_packages(folder / "older", "0.0.1");
  Packages newer = make_packages(folder / "newer", "9.9.9");
};

const Made& made() {
  static const Made once;
  return once;
}

/// A machine with what the daemon's package depends on, a bus as most have (systemd-run waits by it), and a topic and
/// schema for its service.
struct Site {
  Site() : machine{with_the_usual(dependencies_of(made().older.daemon))} {
    stage.config.handlers[0].plugin = "log";
    stage.config.handlers[0].settings.clear();
    stage.migrate();  // before the file has a credential, which only the unit is given
    stage.config.sections["log"] = "level: info";
    stage.config.sections["admin"] =
        "listen: '127.0.0.1:" + std::to_string(port) + "', token: {credential: admin-token}";
  }

  static std::vector<std::string> with_the_usual(std::vector<std::string> packages) {
    packages.insert(packages.end(), {"ca-certificates", "dbus"});
    return packages;
  }

  void install(const fs::path& package) {
    fs::copy_file(package, machine / "root/inboxd.deb", fs::copy_options::overwrite_existing);
    said = machine.must({"apt-get", "install", "--yes", "--no-install-recommends", "--allow-downgrades", "--option",
                         "Dpkg::Options::=--force-confold", "/root/inboxd.deb"},
                        milliseconds{120'000});
  }
  void configure(const std::string& name = "inboxd") {
    write_file(machine / ("etc/inboxd/" + name + ".yaml"), stage.config.text());
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

  Stage stage{1};
  const int port = free_port();
  std::string said;
  Machine machine;
};

/// Of a kind of log line, as operators look it up.
std::string message_id_of(const std::string& sentence) {
  const std::string text = read_file(source_file("config/messages.md"));
  const std::string before = "| " + sentence + " | `";
  const auto at = text.find(before);
  if (at == std::string::npos) throw std::runtime_error{"config/messages.md has no row: " + sentence};
  return text.substr(at + before.size(), 32);
}

/// The line of a document that begins so.
std::string line_of(const std::string& text, const std::string& beginning) {
  const auto at = text.find("\n" + beginning);
  if (at == std::string::npos) throw std::runtime_error{"no line begins with " + beginning};
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE(
    "installed without a configuration it is enabled, not started, and says what to do; purged, nothing is left") {
  Site site;
  Machine& machine = site.machine;
  site.install(made().newer.daemon);
  CHECK_THAT(site.said, ContainsSubstring("inboxd is not configured"));
  CHECK(machine.must({"systemctl", "is-enabled", unit}) == "enabled");
  CHECK(site.state() == "inactive");
  CHECK(machine.property(unit, "ConditionResult") == "no");
  CHECK_THAT(machine.must({"inboxd", "version"}), ContainsSubstring("inboxd"));
  CHECK_THAT(machine.must({"inboxd", "plugin", "check", "log"}), ContainsSubstring("/usr/lib/inboxd/log.so"));
  const auto verified = machine.run({"systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/inboxd.service",
                                     "/usr/lib/systemd/system/inboxd@.service"});
  CHECK(verified.out + verified.err == "");  // what it complains of goes to the error stream, with status 0
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
  Site site;
  Machine& machine = site.machine;
  site.install(made().newer.daemon);
  fs::create_directories(machine / "etc/systemd/system/inboxd.service.d");
  write_file(machine / "etc/systemd/system/inboxd.service.d/test.conf",
             "[Service]\nWatchdogSec=2s\nRestartSec=100ms\n");
  machine.must({"systemctl", "daemon-reload"});
  site.configure_and_start();
  INFO(machine.journal(unit));
  CHECK(site.state() == "active");  // Type=notify: it has said so itself
  // In the journal's own format: a line on the error stream would have no fields.
  CHECK_THAT(machine.must({"journalctl", "--no-pager", "--output", "json", "--unit", unit,
                           "MESSAGE_ID=" + message_id_of("daemon: started")}),
             ContainsSubstring("\"TOPICS\":\"1\""));
  site.stage.produce(50);
  CHECK(site.stage.wait_done().is_perfect());
  CHECK(site.pause_and_resume("wrong") == 401);
  CHECK(site.pause_and_resume("from-credstore") == 200);
  const std::string process = machine.property(unit, "MainPID");
  CHECK(machine.must({"stat", "--format", "%U", "/proc/" + process}) != "root");
  CHECK_THAT(machine.must({"cat", "/proc/" + process + "/status"}), ContainsSubstring("CapBnd:\t0000000000000000"));

  const std::string niceness = "for task in /proc/" + process +
                               "/task/*; do case $(cat $task/comm) in admin*) "
                               "sed 's/.*) //' $task/stat | cut -d ' ' -f 17 ;; esac; done | sort -u";
  CHECK(machine.must({"sh", "-c", niceness}) == "10");  // the admin port gives way

  const std::string good = site.stage.config.text();
  write_file(machine / "etc/inboxd/inboxd.yaml", "bogus: true\n");
  CHECK_FALSE(machine.succeeds({"systemctl", "reload", unit}));
  CHECK_THAT(machine.journal(unit), !ContainsSubstring("reload refused"));  // the daemon never heard of it
  write_file(machine / "etc/inboxd/inboxd.yaml", good);
  machine.must({"systemctl", "reload", unit});
  wait_until("the daemon has reloaded",
             [&] { return machine.journal(unit).find("daemon: reloaded") != std::string::npos; });
  CHECK(machine.property(unit, "MainPID") == process);

  machine.must({"kill", "-STOP", process});
  wait_until("the watchdog has had it started again",
             [&] { return machine.property(unit, "NRestarts") == "1" && site.state() == "active"; });
  CHECK(machine.property(unit, "MainPID") != process);
  site.stage.produce(50);
  CHECK(site.stage.wait_done().is_perfect());

  machine.must({"systemctl", "stop", unit});
  CHECK(machine.property(unit, "Result") == "success");
  CHECK_THAT(machine.journal(unit), ContainsSubstring("daemon: stopped"));
}

TEST_CASE(
    "while the service is down a command gets its credentials as the README shows, and says so where it lacks them") {
  Site site;
  Machine& machine = site.machine;
  site.install(made().newer.daemon);
  site.stage.config.sections["database"] = "password: {credential: pg-password}";
  site.stage.config.sections["admin"] = "listen: off";
  site.configure();
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
  CHECK(site.state() == "active");
}

TEST_CASE("a handler that compiles while it runs is refused memory for code, and gets it by the drop-in") {
  Site site;
  Machine& machine = site.machine;
  site.install(made().newer.daemon);
  fs::create_directories(machine / "usr/local/lib/inboxd");
  fs::copy_file(own_plugin("compiles"), machine / "usr/local/lib/inboxd/compiles.so");
  site.stage.config.handlers[0].plugin = "/usr/local/lib/inboxd/compiles.so";
  site.configure();
  CHECK_FALSE(machine.succeeds({"systemctl", "start", unit}));
  CHECK(site.state() == "failed");  // status 78 is not tried again
  CHECK_THAT(machine.journal(unit), ContainsSubstring("no memory for code: Operation not permitted"));

  fs::create_directories(machine / "etc/systemd/system/inboxd.service.d");
  fs::copy_file(machine / "usr/share/doc/inboxd/config/systemd/jit.conf",
                machine / "etc/systemd/system/inboxd.service.d/jit.conf");
  machine.must({"systemctl", "daemon-reload"});
  machine.must({"systemctl", "start", unit});
  CHECK(site.state() == "active");
}

TEST_CASE("an upgrade keeps what was edited and runs the new one; removed it stops, purged nothing is left") {
  Site site;
  Machine& machine = site.machine;
  site.install(made().older.daemon);
  site.configure_and_start();
  site.configure("second");
  machine.must({"sed", "-i", "s|listen: '[^']*'|listen: off, socket: /run/inboxd-second/admin.sock|",
                "/etc/inboxd/second.yaml"});
  machine.must({"systemctl", "enable", "--quiet", "--now", "inboxd@second.service"});
  CHECK(site.state("inboxd@second.service") == "active");
  CHECK(machine.succeeds({"test", "-S", "/run/inboxd-second/admin.sock"}));
  const std::string before = machine.property(unit, "MainPID");
  const std::string second_before = machine.property("inboxd@second.service", "MainPID");
  write_file(machine / "etc/default/inboxd", "INBOXD_OPTIONS=--migrate\n");

  site.install(made().newer.daemon);
  INFO(machine.journal(unit));
  CHECK(machine.must({"dpkg-query", "--show", "--showformat", "${Version}", "inboxd"}) == "9.9.9");
  CHECK(read_file(machine / "etc/default/inboxd") == "INBOXD_OPTIONS=--migrate\n");
  CHECK(site.state() == "active");
  CHECK(site.state("inboxd@second.service") == "active");
  CHECK(machine.property(unit, "MainPID") != before);
  CHECK(machine.property("inboxd@second.service", "MainPID") != second_before);
  site.stage.produce(50);
  CHECK(site.stage.wait_done().is_perfect());

  machine.must({"apt-get", "remove", "--yes", "inboxd"});
  CHECK(site.state() == "inactive");
  site.install(made().newer.daemon);
  CHECK(site.state() == "active");  // its configuration has stayed

  machine.must({"systemctl", "disable", "--quiet", unit});
  site.install(made().older.daemon);
  CHECK_FALSE(machine.succeeds({"systemctl", "is-enabled", unit}));  // whoever disabled it is not overruled

  machine.must({"apt-get", "remove", "--yes", "inboxd"});
  CHECK(site.state() == "inactive");
  CHECK(site.state("inboxd@second.service") == "inactive");
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

TEST_CASE("an instance whose database is away is started again and again, and runs when it is back") {
  Site site;
  Machine& machine = site.machine;
  site.install(made().newer.daemon);
  const std::string second = "inboxd@second.service";
  Proxy proxy{port_of(site.stage.config.url)};
  proxy.refuse(true);
  site.stage.config.url = url_with_port(site.stage.config.url, proxy.port());
  site.stage.config.sections["database"] = "deadline: 1s";
  site.configure("second");
  fs::create_directories(machine / "etc/systemd/system/inboxd@.service.d");
  write_file(machine / "etc/systemd/system/inboxd@.service.d/test.conf", "[Service]\nRestartSec=100ms\n");
  machine.must({"systemctl", "daemon-reload"});
  machine.must({"systemctl", "start", "--no-block", second});
  wait_until("it was started again", [&] { return std::stoi(machine.property(second, "NRestarts")) >= 2; });
  CHECK(site.state(second) == "activating");
  CHECK_THAT(machine.journal(second), ContainsSubstring("waiting for the database") && ContainsSubstring("status=69"));
  proxy.refuse(false);
  wait_until("it runs", [&] { return site.state(second) == "active"; });
  site.stage.produce(50);
  CHECK(site.stage.wait_done().is_perfect());
}

TEST_CASE("the headers' package has what it takes to build a handler, and nothing that runs") {
  const std::string files = must({"dpkg-deb", "--contents", made().newer.development});
  for (const char* const file : {"./usr/include/inboxd/handler.h", "./usr/include/inboxd/handler.hpp",
                                 "./usr/lib/cmake/inboxd/inboxdConfig.cmake"}) {
    CHECK_THAT(files, ContainsSubstring(file));
  }
  CHECK_THAT(files, !ContainsSubstring("/usr/bin"));
  const std::string daemon = must({"dpkg-deb", "--contents", made().newer.daemon});
  CHECK_THAT(daemon, !ContainsSubstring("/usr/include"));
  CHECK_THAT(daemon, !ContainsSubstring("build/"));
}
