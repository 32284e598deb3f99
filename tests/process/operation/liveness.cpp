#include <sys/ptrace.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <system_error>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

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

/// Stalls the threads of a child with this name while it lives. Construct and destroy it in the same thread.
class FrozenThreads final {
 public:
  FrozenThreads(pid_t process, const std::string& name) : threads_{threads_of(process, name)} {
    if (threads_.empty()) throw std::runtime_error{"no thread has the name " + name};
    for (const pid_t thread : threads_) freeze(thread);
  }
  ~FrozenThreads() {
    for (const pid_t thread : threads_) ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  }
  FrozenThreads(const FrozenThreads&) = delete;
  FrozenThreads& operator=(const FrozenThreads&) = delete;

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

TEST_CASE("a stalled loop of any kind fails /livez and the watchdog as long as it lasts") {
  DaemonFixture fixture{1};
  fixture.start();  // its first start makes tables, which may take longer than the deadline below
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  fixture.config.sections["ingest"] = "connections: 2";
  fixture.config.sections["database"] = "deadline: 1s";
  fixture.config.sections["liveness"] = "grace: 1s";
  DaemonProcess daemon{fixture.config, {"run"}, {{"WATCHDOG_USEC", "400000"}}};
  daemon.wait_ready();
  const auto heartbeats = [&] { return daemon.notified().count("WATCHDOG=1"); };
  const auto wait_alive = [&](const std::string& what) {
    const int before = heartbeats();
    wait_until(what, [&] { return heartbeats() > before && get(port, "/livez").status == 200; });
  };
  for (const std::string loop :
       {"inboxd", "poller", "ingest 0", "ingest 1", "claimer", "overseer", "settler", "maintenance", "watchdog"}) {
    CAPTURE(loop);
    wait_alive("no loop is stalled");
    const FrozenThreads frozen{daemon.process().id(), loop};
    wait_until(loop + " is missed", [&] { return get(port, "/livez").status == 503; });
    const int before = heartbeats();
    holds_for("the watchdog gets no notification", milliseconds{500}, [&] { return heartbeats() == before; });
    const auto answer = get(port, "/livez");
    CHECK(answer.status == 503);
    CHECK_THAT(answer.body, ContainsSubstring("stalled for more than 2s: "));
    CHECK_THAT(answer.body, ContainsSubstring(loop));
    if (loop == "inboxd") continue;  // this loop writes the line itself
    const std::regex line{" error [^\n]*" + loop + "[^\n]* kind=daemon.loop_stalled\n"};
    wait_until("the log names it", [&] { return std::regex_search(daemon.log(), line); });
  }
  wait_alive("all is well again");
  CHECK(daemon.stop() == ExitStatus{0, 0});
}

TEST_CASE("a database that is gone, unresponsive or slow fails neither /livez nor the watchdog") {
  DaemonFixture fixture{2};
  fixture.start();  // its first start makes tables, which may take longer than the deadline below
  Proxy proxy{port_of(fixture.database.url())};
  const int port = free_port();
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  fixture.config.sections["database"] = "deadline: 1s";
  fixture.config.sections["liveness"] = "grace: 4s";
  DaemonProcess daemon{fixture.config, {"run"}, {{"WATCHDOG_USEC", "1000000"}}};
  daemon.wait_ready();
  BackgroundProducer producer{fixture, 200};
  producer.wait_for_more(200);
  const auto check_live = [&](const std::string& what) {
    const int before = daemon.notified().count("WATCHDOG=1");
    // Longer than a loop may stall, and longer than the grace period of a new daemon.
    holds_for(what, milliseconds{7'000}, [&] { return get(port, "/livez").status == 200; });
    CHECK(daemon.notified().count("WATCHDOG=1") >= before + 5);
    CHECK(daemon.count_in_log("kind=daemon.loop_stalled") == 0);
  };
  check_live("the database answers");
  proxy.refuse(true);
  proxy.cut();
  check_live("the database is gone");
  proxy.refuse(false);
  proxy.freeze(true);
  check_live("it does not answer");
  proxy.freeze(false);
  proxy.delay(milliseconds{200});
  check_live("it is slow");
  proxy.delay(milliseconds{0});
  producer.finish();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon.stop() == ExitStatus{0, 0});
}
