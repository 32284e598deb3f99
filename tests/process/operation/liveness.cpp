// A wedged loop is told: /livez says no, and systemd's watchdog hears nothing more.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <system_error>

#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<pid_t> threads_of(pid_t process, const std::string& name) {
  std::vector<pid_t> out;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/task"}) {
    if (read_file(task.path() / "comm") == name + "\n") out.push_back(std::stoi(task.path().filename()));
  }
  return out;
}

/// The threads of a child that have this name stand still as long as this object lives. One thread makes and ends it.
class Frozen final {
 public:
  Frozen(pid_t process, const std::string& name) : threads_{threads_of(process, name)} {
    if (threads_.empty()) throw std::runtime_error{"no thread has the name " + name};
    for (const pid_t thread : threads_) freeze(thread);
  }
  ~Frozen() {
    for (const pid_t thread : threads_) ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  static void freeze(pid_t thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0 ||
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0 || waitpid(thread, nullptr, __WALL) != thread) {
      throw std::system_error{errno, std::generic_category(), "a thread cannot be frozen"};
    }
  }

  std::vector<pid_t> threads_;
};

}  // namespace

TEST_CASE("whichever loop stands still, /livez and the watchdog tell it for as long as it does") {
  Stage stage{1};
  stage.migrate();  // which may take longer than the deadline below
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  stage.config.sections["ingest"] = "connections: 2";
  stage.config.sections["database"] = "deadline: 500ms";
  stage.config.sections["liveness"] = "grace: 1s";
  Daemon daemon{stage.config, {"run"}, {{"WATCHDOG_USEC", "400000"}}};
  daemon.wait_ready();
  const auto signs_of_life = [&] { return daemon.notified().count("WATCHDOG=1"); };
  const auto wait_alive = [&](const std::string& what) {
    const int before = signs_of_life();
    wait_until(what, [&] { return signs_of_life() > before && get(port, "/livez").status == 200; });
  };
  for (const std::string loop :
       {"inboxd", "poller", "ingest 0", "ingest 1", "claimer", "overseer", "settler", "maintenance", "watchdog"}) {
    CAPTURE(loop);
    wait_alive("all is well");
    const Frozen frozen{daemon.process().id(), loop};
    wait_until(loop + " is missed", [&] { return get(port, "/livez").status == 503; });
    const int before = signs_of_life();
    holds_for("the watchdog hears nothing", milliseconds{500}, [&] { return signs_of_life() == before; });
    const auto answer = get(port, "/livez");
    CHECK(answer.status == 503);
    CHECK_THAT(answer.body, ContainsSubstring("stood still for more than 1500ms: "));
    CHECK_THAT(answer.body, ContainsSubstring(loop));
    if (loop == "inboxd") continue;  // it writes the line itself
    const std::regex line{"error daemon: a loop stands still[^\n]*" + loop};
    wait_until("the log names it", [&] { return std::regex_search(daemon.log(), line); });
  }
  wait_alive("all is well again");
  CHECK(daemon.stop() == ExitStatus{0, 0});
}

TEST_CASE("a database that is gone, silent or slow is no wedge: /livez and the watchdog go on as long as it lasts") {
  Stage stage{2};
  stage.migrate();
  Proxy proxy{port_of(stage.database.url())};
  const int port = free_port();
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  stage.config.sections["database"] = "deadline: 1s";
  stage.config.sections["liveness"] = "grace: 4s";
  Daemon daemon{stage.config, {"run"}, {{"WATCHDOG_USEC", "1000000"}}};
  daemon.wait_ready();
  Load load{stage, 200};
  load.wait_for_more(200);
  const auto lives = [&](const std::string& what) {
    const int before = daemon.notified().count("WATCHDOG=1");
    // Longer than a loop may stand still, and than a new daemon is trusted.
    holds_for(what, milliseconds{7'000}, [&] { return get(port, "/livez").status == 200; });
    CHECK(daemon.notified().count("WATCHDOG=1") >= before + 5);
    CHECK(daemon.count_in_log("daemon: a loop stands still") == 0);
  };
  lives("all is well");
  proxy.refuse(true);
  proxy.cut();
  lives("the database is gone");
  proxy.refuse(false);
  proxy.freeze(true);
  lives("it is silent");
  proxy.freeze(false);
  proxy.delay(milliseconds{200});
  lives("it is slow");
  proxy.delay(milliseconds{0});
  load.finish();
  CHECK(stage.wait_done().is_perfect());
  CHECK(daemon.stop() == ExitStatus{0, 0});
}
