#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <utility>

#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A program at its own terminal; killed at the end.
class TerminalProcess {
 public:
  explicit TerminalProcess(std::vector<std::string> arguments) {
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
  ~TerminalProcess() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(terminal_);
  }
  TerminalProcess(const TerminalProcess&) = delete;
  TerminalProcess& operator=(const TerminalProcess&) = delete;

  /// Unread output; blocks until there is some or the program has exited.
  std::string read_some() {
    std::array<char, 4096> bytes{};
    const ssize_t count = read(terminal_, bytes.data(), bytes.size());
    return count > 0 ? std::string{bytes.data(), static_cast<std::size_t>(count)} : std::string{};
  }
  void type(std::string_view keys) { REQUIRE(write(terminal_, keys.data(), keys.size()) == std::ssize(keys)); }
  /// The exit status, or minus the signal that ended it.
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

constexpr std::string_view new_screen = "\x1b[H";

}  // namespace

TEST_CASE("status --watch shows a new screen with the changes every two seconds, until Ctrl-C") {
  DaemonFixture fixture{1};
  fixture.migrate();
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  TerminalProcess terminal{{daemon_program(), "--config", (folder / "inboxd.yaml").string(), "status", "--watch"}};
  std::string seen;
  const auto read_until = [&](const std::string& what, const auto& found) {
    wait_until(what, [&] {
      seen += terminal.read_some();
      return found();
    });
  };
  read_until("a first screen", [&] { return seen.find(new_screen) != std::string::npos && seen.size() > 100; });
  CHECK(seen.find("4711") == std::string::npos);
  fixture.database.run(
      "insert into inbox.shard (source, topic, partition, halted_reason, halted_at) "
      "values ('kafka', 'topic-4711', 0, 'made up', now())");
  const auto before = seen.size();
  read_until("a later screen", [&] { return seen.find("topic-4711", before) != std::string::npos; });
  CHECK(seen.find(new_screen, before) < seen.find("topic-4711", before));
  terminal.type("\x03");
  CHECK(terminal.wait_for_end() == 0);
}

TEST_CASE("status --watch opens a handler with its failures, and a failed event, and q restores the screen") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  const auto daemon = fixture.start();
  const std::string id = "bad00000-0000-4000-8000-000000000001";
  fixture.kafka.produce({event_message(fixture.topic, id, "{}", "Bad")});
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letter", 1);
  fixture.database.run("delete from inbox.failure");  // the dead letter alone leads to the event
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  TerminalProcess terminal{
      {daemon_program(), "--config", (folder / "inboxd.yaml").string(), "status", "--watch", "--sizes"}};
  std::string seen;
  const auto read_until = [&](const std::string& text) {
    const auto before = seen.size();
    wait_until("it shows " + text, [&] {
      seen += terminal.read_some();
      return seen.find(text, before) != std::string::npos;
    }, patience, [&] { return seen; });
  };
  read_until("recorder");
  terminal.type("\r");
  read_until(id);
  terminal.type("\r");
  read_until("inboxd: event " + id);
  terminal.type("\x1b");
  read_until("inboxd: handler recorder");
  terminal.type("q");
  read_until("\x1b[?1049l");
  CHECK(terminal.wait_for_end() == 0);
}

TEST_CASE("tail follows new events, and with --failed each failed attempt of a handler") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 2, base: 100ms, cap: 100ms}"};
  const auto daemon = fixture.start();
  fixture.produce(1, "Before");
  fixture.wait_done();
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  const auto follow = [&](std::vector<std::string> more) {
    std::vector<std::string> words{daemon_program(), "--config", (folder / "inboxd.yaml").string(), "tail"};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(Command{.arguments = words, .out = folder / (more.empty() ? "all" : "failed")});
  };
  const auto all = follow({});
  const auto failed = follow({"--failed", "--handler", "recorder"});
  const std::string id = "bad00000-0000-4000-8000-000000000001";
  int n = 0;
  wait_until("tail shows a new event", [&] {  // it begins after its start
    const std::string good = "600d0000-0000-4000-8000-00000000000" + std::to_string(n++ % 10);
    fixture.kafka.produce({event_message(fixture.topic, good, "{}", "Good")});
    return read_file(folder / "all").find("Good") != std::string::npos;
  });
  fixture.kafka.produce({event_message(fixture.topic, id, "{}", "Bad")});
  wait_until("both attempts are shown", [&] {
    const auto text = read_file(folder / "failed");
    return text.find("recorder attempt 1 ") != text.npos && text.find("recorder attempt 2 ") != text.npos;
  }, patience, [&] { return read_file(folder / "failed"); });
  wait_until("the event is shown", [&] { return read_file(folder / "all").find(id) != std::string::npos; });
  const auto text = read_file(folder / "all");
  CHECK(text.find(" Bad ") == text.rfind(" Bad "));  // once
  CHECK(text.find("Before") == std::string::npos);
  for (const auto& each : {all.get(), failed.get()}) {
    each->signal(SIGINT);
    CHECK(each->wait() == ExitStatus{0, 0});
  }
}

TEST_CASE("Ctrl-C ends status --watch while the database hangs") {
  DaemonFixture fixture{1};
  fixture.migrate();
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  proxy.cut_at(Proxy::executes("op_shards"), Proxy::Cut::hold);
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  TerminalProcess terminal{{daemon_program(), "--config", (folder / "inboxd.yaml").string(), "status", "--watch"}};
  wait_until("it hangs", [&] { return proxy.cuts() == 1; });
  const auto began = monotonic_ms();
  terminal.type("\x03");
  CHECK(terminal.wait_for_end() == 0);
  CHECK(monotonic_ms() - began < 15'000);
}

TEST_CASE("SIGTERM ends a change while the database hangs") {
  DaemonFixture fixture{1};
  fixture.migrate();
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  proxy.cut_at(Proxy::executes("op_dead_pick"), Proxy::Cut::hold);
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  Process process{
      {.arguments = {daemon_program(), "--config", folder / "inboxd.yaml", "dead", "replay", "--all", "--yes"}}};
  wait_until("it hangs", [&] { return proxy.cuts() == 1; });
  const auto began = monotonic_ms();
  process.signal(SIGTERM);
  CHECK(process.wait() == ExitStatus{69, 0});
  CHECK(monotonic_ms() - began < 15'000);
}

TEST_CASE("Ctrl-C during a command's preview ends it without a question") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  {
    const auto daemon = fixture.start();
    fixture.kafka.produce({event_message(fixture.topic, "bad00000-0000-4000-8000-000000000001", "{}", "Bad")});
    fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letter", 1);
  }
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; lock table inbox.dead_letter in access exclusive mode");
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  TerminalProcess terminal{
      {daemon_program(), "--config", (folder / "inboxd.yaml").string(), "dead", "discard", "--all"}};
  fixture.database.wait_for("it looks",
                            "select count(*) from pg_locks where not granted and relation = "
                            "'inbox.dead_letter'::regclass",
                            1);
  terminal.type("\x03");
  wait_until("it has heard", [&] { return terminal.read_some().find("^C") != std::string::npos; });
  holder.run("rollback");
  CHECK(terminal.wait_for_end() == -SIGINT);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letter") == 1);
}

TEST_CASE("a confirmed change covers the events shown: events dead-lettered meanwhile stay") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  const auto daemon = fixture.start();
  fixture.produce(2, "Bad");
  fixture.database.wait_for("two are dead", "select count(*) from inbox.dead_letter", 2);
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  TerminalProcess terminal{
      {daemon_program(), "--config", (folder / "inboxd.yaml").string(), "dead", "discard", "--all"}};
  std::string seen;
  wait_until("it asks", [&] {
    seen += terminal.read_some();
    return seen.find("Continue? [y/N]") != std::string::npos;
  });
  INFO(seen);
  CHECK(seen.find("2 dead letters (recorder 2)") != std::string::npos);
  fixture.produce(3, "Bad");
  fixture.database.wait_for("five are dead", "select count(*) from inbox.dead_letter", 5);
  terminal.type("y\n");
  CHECK(terminal.wait_for_end() == 0);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letter") == 3);
}

TEST_CASE("a long change shows its progress: on a single line at a terminal, at the end in a file") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  {
    const auto daemon = fixture.start();
    fixture.produce(1'100, "Bad");
    fixture.database.wait_for("all are dead", "select count(*) from inbox.dead_letter", 1'100);
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  const auto ids = fixture.database.rows("select dead_letter_id from inbox.dead_letter order by 1 limit 2");
  const auto piped = command(fixture.config, {"dead", "replay", *ids[0][0], *ids[1][0], "--yes"});
  INFO(piped.err);
  CHECK(piped.err.starts_with("worked through 2 of 2\n"));

  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  TerminalProcess terminal{
      {daemon_program(), "--config", (folder / "inboxd.yaml").string(), "dead", "discard", "--all", "--yes"}};
  std::string seen;
  for (auto some = terminal.read_some(); !some.empty(); some = terminal.read_some()) seen += some;
  INFO(seen);
  CHECK(seen.starts_with("\rworked through 500 of 1,098 ▕█████████░░░░░░░░░░░▏\x1b[K\rworked through 1,000 of 1,098"));
  CHECK(seen.find("\rworked through 1,098 of 1,098 ▕████████████████████▏\x1b[K") != seen.npos);
  CHECK(terminal.wait_for_end() == 0);
}

TEST_CASE("init asks at a terminal for a topic that was not passed") {
  DaemonFixture fixture{1};
  const TempFolder folder;
  const std::string file = (folder / "inboxd.yaml").string();
  TerminalProcess init{{daemon_program(), "init", "--brokers", fixture.config.brokers, "--out", file}};
  std::string shown;
  while (shown.find("Topic: ") == std::string::npos) {
    const std::string more = init.read_some();
    REQUIRE_FALSE(more.empty());
    shown += more;
  }
  init.type(fixture.topic + "\n");
  CHECK(init.wait_for_end() == 0);
  CHECK(read_file(file).find("name: " + fixture.topic) != std::string::npos);
}
