#include "base/line_writer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>

using namespace inboxd::base;
using namespace std::chrono_literals;

namespace {

struct Pipe {
  Pipe() { REQUIRE(pipe2(ends, O_CLOEXEC) == 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("lines arrive whole and in order, also lines that waited at the end") {
  Pipe pipe;
  std::string expected;
  {
    LineWriter writer{pipe.ends[1]};
    for (int i = 0; i < 1000; ++i) {
      const std::string line = "line " + std::to_string(i) + "\n";
      expected += line;
      CHECK(writer.write(line));
    }
  }
  std::string got(expected.size() + 1, '\0');
  pipe.close_end(1);
  got.resize(static_cast<std::size_t>(read(pipe.ends[0], got.data(), got.size())));
  CHECK(got == expected);
}

TEST_CASE("a pipe without a reader delays no line; further lines are dropped and counted, and the end does not wait") {
  static Pipe* const pipe = new Pipe;  // never closed: the writer's thread may use it after the test
  const auto began = std::chrono::steady_clock::now();
  {
    LineWriter writer{pipe->ends[1]};
    const std::string line = std::string(999, 'x') + "\n";
    for (int i = 0; i < 5000; ++i) writer.write(line);
    CHECK(writer.lost() > 4000);
    CHECK_FALSE(writer.flush(200ms));
  }
  CHECK(std::chrono::steady_clock::now() - began < 60s);
}

TEST_CASE("lines for a reader that is gone are dropped") {
  signal(SIGPIPE, SIG_IGN);  // as the daemon does
  Pipe pipe;
  pipe.close_end(0);
  LineWriter writer{pipe.ends[1]};
  CHECK(writer.write("lost\n"));
  CHECK(writer.flush(5s));
  CHECK(writer.lost() == 1);
}
