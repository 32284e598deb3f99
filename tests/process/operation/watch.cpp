// What a person sees at a terminal.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <utility>

#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A program at a terminal of its own; killed at the end.
class AtTerminal {
 public:
  explicit AtTerminal(std::vector<std::string> arguments) {
    winsize size{};
    size.ws_row = 50;
    size.ws_col = 120;
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) {
      execv(raw[0], raw.data());
      _exit(127);
    }
  }
  ~AtTerminal() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(terminal_);
  }
  AtTerminal(const AtTerminal&) = delete;
  AtTerminal& operator=(const AtTerminal&) = delete;

  /// Everything it has written so far that was not read yet; blocks until there is something or it has ended.
  std::string read_some() {
    std::array<char, 4096> bytes{};
    const ssize_t count = read(terminal_, bytes.data(), bytes.size());
    return count > 0 ? std::string{bytes.data(), static_cast<std::size_t>(count)} : std::string{};
  }
  void type(std::string_view keys) { REQUIRE(write(terminal_, keys.data(), keys.size()) == std::ssize(keys)); }
  /// Its exit status, or minus the signal that ended it.
  int wait_for_end() {
    while (!read_some().empty()) {
    }
    int status = 0;
    waitpid(std::exchange(child_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int terminal_ = -1;
  pid_t child_ = 0;
};

constexpr std::string_view new_screen = "\x1b[H\x1b[2J";

}  // namespace

TEST_CASE("status --watch shows a new screen every two seconds, with what has changed, until Ctrl-C") {
  Stage stage{1};
  stage.migrate();
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", stage.config.text());
  AtTerminal terminal{{daemon_program(), "--config", (folder / "inboxd.yaml").string(), "status", "--watch"}};
  std::string seen;
  const auto read_until = [&](const std::string& what, const auto& found) {
    wait_until(what, [&] {
      seen += terminal.read_some();
      return found();
    });
  };
  read_until("a first screen", [&] { return seen.find(new_screen) != std::string::npos && seen.size() > 100; });
  CHECK(seen.find("4711") == std::string::npos);
  stage.database.run(
      "insert into inbox.shard (source, topic, partition, halted_reason, halted_at) "
      "values ('kafka', 'topic-4711', 0, 'made up', now())");
  const auto before = seen.size();
  read_until("a later screen", [&] { return seen.find("topic-4711", before) != std::string::npos; });
  CHECK(seen.find(new_screen, before) < seen.find("topic-4711", before));
  terminal.type("\x03");
  CHECK(terminal.wait_for_end() == 0);
}

TEST_CASE("Ctrl-C ends status --watch while the database hangs") {
  Stage stage{1};
  stage.migrate();
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  proxy.cut_at(Proxy::executes("op_shards"), Proxy::Cut::hold);
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", stage.config.text());
  AtTerminal terminal{{daemon_program(), "--config", (folder / "inboxd.yaml").string(), "status", "--watch"}};
  wait_until("it hangs", [&] { return proxy.cuts() == 1; });
  const auto began = monotonic_ms();
  terminal.type("\x03");
  CHECK(terminal.wait_for_end() == 0);
  CHECK(monotonic_ms() - began < 15'000);
}

TEST_CASE("SIGTERM ends a change while the database hangs") {
  Stage stage{1};
  stage.migrate();
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  proxy.cut_at(Proxy::executes("op_dead_pick"), Proxy::Cut::hold);
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", stage.config.text());
  Process process{
      {.arguments = {daemon_program(), "--config", folder / "inboxd.yaml", "dead", "replay", "--all", "--yes"}}};
  wait_until("it hangs", [&] { return proxy.cuts() == 1; });
  const auto began = monotonic_ms();
  process.signal(SIGTERM);
  CHECK(process.wait() == ExitStatus{69, 0});
  CHECK(monotonic_ms() - began < 15'000);
}

TEST_CASE("Ctrl-C while a command looks at what it would do: it ends, and asks nothing any more") {
  Stage stage{1};
  stage.set("fail_type", "Bad");
  stage.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  {
    const auto daemon = stage.start();
    stage.kafka.produce({event_message(stage.topic, "bad00000-0000-4000-8000-000000000001", "{}", "Bad")});
    stage.database.wait_for("it is dead", "select count(*) from inbox.dead_letter", 1);
  }
  Session holder{stage.database.url(), stage.database.schema()};
  holder.run("begin; lock table inbox.dead_letter in access exclusive mode");
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", stage.config.text());
  AtTerminal terminal{{daemon_program(), "--config", (folder / "inboxd.yaml").string(), "dead", "discard", "--all"}};
  stage.database.wait_for("it looks",
                          "select count(*) from pg_locks where not granted and relation = "
                          "'inbox.dead_letter'::regclass",
                          1);
  terminal.type("\x03");
  wait_until("it has heard", [&] { return terminal.read_some().find("^C") != std::string::npos; });
  holder.run("rollback");
  CHECK(terminal.wait_for_end() == -SIGINT);
  CHECK(stage.database.number("select count(*) from inbox.dead_letter") == 1);
}

TEST_CASE("what a person agrees to is what is done: what dies while they read stays") {
  Stage stage{1};
  stage.set("fail_type", "Bad");
  stage.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  const auto daemon = stage.start();
  stage.produce(2, "Bad");
  stage.database.wait_for("two are dead", "select count(*) from inbox.dead_letter", 2);
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", stage.config.text());
  AtTerminal terminal{{daemon_program(), "--config", (folder / "inboxd.yaml").string(), "dead", "discard", "--all"}};
  std::string seen;
  wait_until("it asks", [&] {
    seen += terminal.read_some();
    return seen.find("go on? [y/N]") != std::string::npos;
  });
  INFO(seen);
  CHECK(seen.find("2 dead letters (recorder 2)") != std::string::npos);
  stage.produce(3, "Bad");
  stage.database.wait_for("five are dead", "select count(*) from inbox.dead_letter", 5);
  terminal.type("y\n");
  CHECK(terminal.wait_for_end() == 0);
  CHECK(stage.database.number("select count(*) from inbox.dead_letter") == 3);
}

TEST_CASE("a long change tells how far it has come: a terminal on one line, a file by its end") {
  Stage stage{1};
  stage.set("fail_type", "Bad");
  stage.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  {
    const auto daemon = stage.start();
    stage.produce(1'100, "Bad");
    stage.database.wait_for("all are dead", "select count(*) from inbox.dead_letter", 1'100);
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  const auto ids = stage.database.rows("select dead_letter_id from inbox.dead_letter order by 1 limit 2");
  const auto piped = command(stage.config, {"dead", "replay", *ids[0][0], *ids[1][0], "--yes"});
  INFO(piped.err);
  CHECK(piped.err.starts_with("replayed 2 of 2\n"));

  const TempFolder folder;
  write_file(folder / "inboxd.yaml", stage.config.text());
  AtTerminal terminal{
      {daemon_program(), "--config", (folder / "inboxd.yaml").string(), "dead", "discard", "--all", "--yes"}};
  std::string seen;
  for (auto some = terminal.read_some(); !some.empty(); some = terminal.read_some()) seen += some;
  INFO(seen);
  CHECK(seen.starts_with("\rdiscarded 500 of 1,098\x1b[K\rdiscarded 1,000 of 1,098\x1b[K\rdiscarded 1,098 of 1,098"));
  CHECK(terminal.wait_for_end() == 0);
}
