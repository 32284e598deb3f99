// What operators and handlers did before a restore of the database to a state without it.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "process/support/daemon_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/topic_reader.hpp"
#include "support/wait.hpp"

using namespace inboxd::support;

// fault: a message after a restore
TEST_CASE("messages that a handler publishes again after a restore have the ids that they had before") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  const std::string sink = fixture.kafka.create_topic(1);
  fixture.config.handlers[0].plugin = plugin_file("publisher");
  fixture.config.handlers[0].settings = {{"to", sink}};
  fixture.config.handlers[0].more = {"events_per_call: 7"};
  const auto daemon = fixture.start();
  const auto wait_sent = [&](std::int64_t messages) {
    wait_until("messages are sent", [&] { return fixture.kafka.ends(sink).at(0) >= messages; });
  };
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  wait_sent(20);
  server.snapshot();
  fixture.database.session().close();
  fixture.produce(50);
  CHECK(fixture.wait_done().is_perfect());
  wait_sent(70);
  server.restore();
  fixture.database.session().close();
  CHECK(fixture.wait_done().is_perfect());
  wait_sent(120);
  std::set<std::string> ids, causes;
  for (const auto& record : read_topic(fixture.kafka.brokers(), sink, fixture.kafka.ends(sink))) {
    ids.insert(record.header("id"));
    causes.insert(record.header("cause"));
  }
  CHECK(causes.size() == 70);
  CHECK(ids.size() == 70);
}

TEST_CASE("after a restore, replays and deferred events run again, and an erased key can be erased again") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  const TempFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms{01777});
  std::ofstream{folder / "child.py"} << R"(
import json, os, sys
for line in sys.stdin:
    event = json.loads(line)
    is_open = os.path.exists(os.environ["GATE"])
    outcome = "done" if is_open or event["type"] == "Happened" else "dead" if event["type"] == "Bad" else "defer"
    print(json.dumps({"event_id": event["event_id"], "outcome": outcome, "delay": "200ms"}), flush=True)
)";
  auto& handler = fixture.config.handlers[0];
  handler.plugin = "exec";
  handler.settings = {{"command", "[python3, " + (folder / "child.py").string() + "]"},
                      {"environment", "{GATE: " + (folder / "gate").string() + "}"}};
  const auto daemon = fixture.start();
  fixture.produce(5, "Bad");
  fixture.produce(5, "NotYet");
  fixture.produce(5);
  const char* const dead = "select count(*) from inbox.dead_letter";
  const char* const done = "select count(*) from inbox.deliveries where state = 'done'";
  const auto finish_all = [&] {
    std::ofstream{folder / "gate"} << "open";
    CHECK(command(fixture.config, {"dead", "replay", "--all", "--yes"}).status == ExitStatus{0, 0});
    fixture.database.wait_for("all are done", done, 15);
    CHECK(fixture.database.number(dead) == 0);
  };
  fixture.database.wait_for("five are dead", dead, 5);
  fixture.database.wait_for("five are done", done, 5);
  server.snapshot();
  fixture.database.session().close();
  finish_all();
  const std::string key = fixture.database.text("select convert_from(key, 'UTF8') from inbox.event limit 1");
  const auto forget = [&] {
    CHECK(command(fixture.config, {"events", "forget", "--key", key, "--yes"}).status == ExitStatus{0, 0});
    CHECK(fixture.database.number("select count(*) from inbox.event where key = convert_to($1, 'UTF8')", {key}) == 0);
  };
  forget();

  std::filesystem::remove(folder / "gate");
  server.restore();
  fixture.database.session().close();
  fixture.database.wait_for("the dead letters are back", dead, 5);
  fixture.database.wait_for("the deferred events wait again", done, 5);
  CHECK(fixture.database.number("select count(*) from inbox.event where key = convert_to($1, 'UTF8')", {key}) > 0);
  finish_all();
  forget();
  CHECK(fixture.counts().done_twice == 0);
  CHECK(daemon->process().is_running());
}
