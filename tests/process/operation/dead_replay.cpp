#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("Ctrl-C ends a replay between two steps; the command that it names replays the rest, and no new failure") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  const auto daemon = fixture.start();
  fixture.produce(25, "Bad");
  const std::string dead = "select count(*) from inbox.dead_letter where dead_letter_id ";
  fixture.database.wait_for("all are dead", dead + "> 0", 25);
  const auto last = fixture.database.text("select max(dead_letter_id)::text from inbox.dead_letter");
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", fixture.config.text());
  Process replay{{.arguments = {daemon_program(), "--config", folder / "inboxd.yaml", "dead", "replay", "--all",
                                "--yes", "--rate", "1"},
                  .err = folder / "messages"}};
  wait_until("the first has failed again", [&] { return fixture.database.number(dead + "> " + last) > 0; });
  replay.signal(SIGINT);
  CHECK(replay.wait() == ExitStatus{75, 0});
  const auto left = fixture.database.number(dead + "<= " + last);
  CHECK(left < 25);
  const auto message = read_file(folder / "messages");
  CHECK_THAT(message, ContainsSubstring("dead replay: stopped after " + std::to_string(25 - left) +
                                        " of 25; for the rest, repeat the command with --until 2"));

  const auto at = message.find("--until ") + 8;
  const auto until = message.substr(at, message.find('\n', at) - at);
  const auto rest = command(fixture.config, {"dead", "replay", "--all", "--yes", "--until", until});
  INFO(rest.err);
  CHECK(rest.status == ExitStatus{0, 0});
  CHECK_THAT(rest.out, ContainsSubstring(std::to_string(left) + " replayed"));
  fixture.database.wait_for("each has failed twice", "select count(*) from inbox.failure", 50);
}
