// A log without a reader.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <optional>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// A pipe with a name, held open by this process, which reads nothing.
class UnreadPipe final {
 public:
  UnreadPipe() {
    REQUIRE(mkfifo(path().c_str(), 0600) == 0);
    end_ = open(path().c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(end_ >= 0);
    REQUIRE(fcntl(end_, F_SETPIPE_SZ, 4096) >= 0);
  }
  ~UnreadPipe() { close(end_); }
  UnreadPipe(const UnreadPipe&) = delete;
  UnreadPipe& operator=(const UnreadPipe&) = delete;
  std::filesystem::path path() const { return folder_ / "pipe"; }

 private:
  const TempFolder folder_;
  int end_ = -1;
};

/// A daemon whose log goes into that pipe until lines are lost, which makes it not ready.
struct UnreadDaemon {
  explicit UnreadDaemon(const std::string& shutdown = "drain: 20s") {
    fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
    fixture.config.sections["log"] = "level: debug";
    fixture.config.sections["shutdown"] = shutdown;
    fixture.set("gate", folder / "gate");
    write_file(folder / "gate", "open");
    HandlerText lines;
    lines.name = "lines";
    lines.plugin = "log";
    fixture.config.handlers.push_back(lines);
    fixture.migrate();
    write_file(folder / "inboxd.yaml", fixture.config.text());
    daemon.emplace(Command{.arguments = {daemon_program(), "--config", folder / "inboxd.yaml", "run"},
                           .environment = {},
                           .user = {},
                           .out = pipe.path(),
                           .err = pipe.path()});
    wait_until("lines are lost, and the daemon is not ready", [this] {
      fixture.produce(1000);
      produced += 1000;
      fixture.wait_done();
      return get(port, "/readyz").status == 503;
    });
  }

  DaemonFixture fixture{1};
  const int port = free_port();
  const UnreadPipe pipe;
  const TempFolder folder;
  std::optional<Process> daemon;
  std::int64_t produced = 0;
};

}  // namespace

// fault: log reader that hangs
TEST_CASE("a log without a reader stops neither events nor the end, and the daemon is not ready") {
  UnreadDaemon unread;
  CHECK(unread.fixture.counts().done == unread.produced);
  CHECK(get(unread.port, "/livez").status == 200);
  unread.daemon->signal(SIGTERM);
  CHECK(unread.daemon->wait() == ExitStatus{0, 0});
}

// fault: log reader that hangs
TEST_CASE("a second SIGTERM ends a daemon whose log nobody reads") {
  UnreadDaemon unread{"drain: 10m"};
  std::filesystem::remove(unread.folder / "gate");
  unread.fixture.produce(1);
  const auto calls = static_cast<std::size_t>(unread.produced) + 1;
  wait_until("the call has begun", [&] { return unread.fixture.recording.count() == calls; });
  unread.daemon->signal(SIGTERM);
  holds_for("the daemon drains", milliseconds{500}, [&] { return unread.daemon->is_running(); });
  unread.daemon->signal(SIGTERM);
  CHECK(unread.daemon->wait() == ExitStatus{128 + SIGTERM, 0});
}
