// A log without a reader.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>

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

}  // namespace

TEST_CASE("a log without a reader stops neither events nor the end, and the daemon is not ready") {
  DaemonFixture fixture{1};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  fixture.config.sections["log"] = "level: debug";
  HandlerText lines;
  lines.name = "lines";
  lines.plugin = "log";
  fixture.config.handlers.push_back(lines);
  fixture.migrate();
  const UnreadPipe pipe;
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  Process daemon{{.arguments = {daemon_program(), "--config", folder / "inboxd.yaml", "run"},
                  .environment = {},
                  .user = {},
                  .out = pipe.path(),
                  .err = pipe.path()}};
  std::int64_t produced = 0;
  wait_until("lines are lost, and the daemon is not ready", [&] {
    fixture.produce(1000);
    produced += 1000;
    fixture.wait_done();
    return get(port, "/readyz").status == 503;
  });
  CHECK(fixture.counts().done == produced);
  CHECK(get(port, "/livez").status == 200);
  daemon.signal(SIGTERM);
  CHECK(daemon.wait() == ExitStatus{0, 0});
}
