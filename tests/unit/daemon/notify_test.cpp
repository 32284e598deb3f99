#include "daemon/notify.hpp"

#include <stdlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/notify_socket.hpp"
#include "support/wait.hpp"

using inboxd::daemon::Notify;
using inboxd::support::NotifySocket;
using inboxd::support::wait_until;

namespace {

/// Notifies through this socket.
Notify notify_through(const NotifySocket& socket) {
  ::setenv("NOTIFY_SOCKET", socket.path().c_str(), 1);
  return Notify{};
}

/// The lines until STATUS=end, without the lines that filled the socket.
std::vector<std::string> lines_of(const NotifySocket& socket) {
  wait_until("the last line arrives", [&] { return socket.count("STATUS=end") == 1; });
  auto lines = socket.lines();
  std::erase_if(lines, [](const std::string& line) { return line == "FILL=1" || line.starts_with("MONOTONIC_"); });
  return lines;
}

}  // namespace

TEST_CASE("a full notify socket drops a status and a heartbeat, but changes of state are sent later") {
  NotifySocket socket;
  socket.stop_reading();
  const Notify notify = notify_through(socket);
  notify.status("dropped");
  CHECK_FALSE(notify.alive());
  notify.ready();
  notify.reloading();
  notify.ready();
  socket.resume_reading();
  wait_until("there is room again", [&] { return notify.alive(); });
  notify.status("end");
  CHECK(lines_of(socket) ==
        std::vector<std::string>{"READY=1", "RELOADING=1", "READY=1", "WATCHDOG=1", "STATUS=end"});
}

TEST_CASE("of many undelivered changes of state, systemd gets the last changes") {
  NotifySocket socket;
  socket.stop_reading();
  const Notify notify = notify_through(socket);
  notify.ready();
  for (int i = 0; i < 1'000; ++i) {
    notify.reloading();
    notify.ready();
  }
  notify.stopping();
  socket.resume_reading();
  wait_until("there is room again", [&] { return notify.alive(); });
  notify.status("end");
  CHECK(lines_of(socket) ==
        std::vector<std::string>{"RELOADING=1", "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=end"});
}

TEST_CASE("without a notify socket, nothing is retried") {
  ::unsetenv("NOTIFY_SOCKET");
  const Notify notify;
  notify.ready();
  CHECK(notify.alive());
}
