// The daemon as process number 1, as in a container without an init.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file{"/proc/" + id + "/task/" + id + "/children"};
  std::vector<pid_t> out;
  for (pid_t child = 0; file >> child;) out.push_back(child);
  return out;
}

bool is_zombie(pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
  std::stringstream text;
  text << file.rdbuf();
  return text.str().find(") Z ") != std::string::npos;
}

}  // namespace

// fault: process 1
TEST_CASE("as process 1 the daemon reaps the orphans of its programs, keeps their statuses, and ends on SIGTERM") {
  if (geteuid() != 0) SKIP("a process namespace needs root");
  DaemonFixture fixture{1};
  fixture.config.handlers[0].plugin = "exec";
  fixture.config.handlers[0].settings = {
      {"mode", "once"}, {"command", R"([sh, -c, "setsid sh -c 'sleep 0.2 & exit' & exit 3"])"}};
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  Process unshared{{.arguments = {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", daemon_program(),
                                  "--config", folder / "inboxd.yaml", "run", "--migrate"},
                    .environment = {},
                    .user = {},
                    .out = folder / "out",
                    .err = folder / "log"}};
  fixture.produce(60);
  fixture.database.wait_for("each event has failed", "select count(*) from inbox.failure", 60);
  CHECK(fixture.database.number("select count(*) from inbox.failures where message like '%status 3%'") == 60);
  const auto of_unshare = children_of(unshared.id());
  REQUIRE(of_unshare.size() == 1);
  const pid_t first = of_unshare.at(0);
  // A program that ended a moment ago is a zombie until the daemon's helper reads its status.
  wait_until("no orphan is left", [&] { return children_of(first).size() == 1; });
  wait_until("no program is left unreaped", [&] {
    return std::ranges::none_of(children_of(first),
                                [](pid_t child) { return std::ranges::any_of(children_of(child), is_zombie); });
  });
  REQUIRE(kill(first, SIGTERM) == 0);
  CHECK(unshared.wait() == ExitStatus{0, 0});
  INFO(read_file(folder / "log"));
}
