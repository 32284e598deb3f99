// The shipped handler `exec`: children that answer line by line, and a process for each event.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "process/support/daemon_fixture.hpp"
#include "process/support/keyed_events.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A Python child. It appends `id attempt` of each event to the file `seen`, then does as the event's type says.
constexpr const char* child = R"(
import json, os, subprocess, sys, time
seen = open(os.environ["SEEN"], "a")
def answer(event, outcome, **more):
    print(json.dumps({"event_id": event["event_id"], "outcome": outcome, **more}), flush=True)
for line in sys.stdin:
    event = json.loads(line)
    seen.write(event["event_id"] + " " + str(event["attempt"]) + "\n")
    seen.flush()
    kind = event["type"]
    if kind == "Crash" and event["attempt"] == 1:
        print("out of ideas", file=sys.stderr, flush=True)
        os._exit(3)
    if kind == "Hang":
        pid = subprocess.Popen(["sleep", "1000"]).pid
        open(os.environ["SEEN"] + ".sleeper", "w").write(str(pid))
        time.sleep(1000)
    if kind == "Escape":
        subprocess.run(["setsid", "-f", "sleep", os.environ["SLEEP"]])
        time.sleep(1000)
    if kind == "Orphan": subprocess.run(["sh", "-c", "( ( sleep 0.1 ) & ) ; ( setsid sh -c 'sleep 0.1 &' & ); true"])
    if kind == "Garbage" and event["attempt"] == 1: print("hello", flush=True)
    elif kind == "Stranger" and event["attempt"] == 1: answer({"event_id": "unknown"}, "done")
    elif kind == "Flood" and event["attempt"] == 1: print("x" * 3000000, flush=True)
    elif kind == "Later" and event["attempt"] == 1:
        answer(event, "retry", delay="10ms", error="my.later", message="busy")
    elif kind == "NotYet" and open(seen.name).read().count(event["event_id"]) < 5:
        answer(event, "defer", delay="100ms", error=None, message="not yet")
    elif kind == "Nulls": answer({"event_id": event["event_id"].upper()}, "done", delay=None, error=None, message=None)
    elif kind == "Late" and event["attempt"] == 2:
        answer(event, "dead", attempt=1)
        answer(event, "done", attempt=2)
    elif kind == "Late": answer(event, "retry", delay="10ms", attempt=1)
    elif kind == "Dead": answer(event, "dead", error="my.class", message="no way")
    elif kind == "NotMine": answer(event, "skipped")
    elif kind == "Show": answer(event, "dead", message=json.dumps(event, sort_keys=True) + str(sorted(os.environ)))
    else: answer(event, "done")
)";

struct ExecFixture : DaemonFixture {
  explicit ExecFixture(const std::string& more = "", int partitions = 1) : DaemonFixture{partitions} {
    std::ofstream{folder / "child.py"} << child;
    std::filesystem::permissions(folder.path(), std::filesystem::perms{01777});
    auto& handler = config.handlers[0];
    handler.plugin = "exec";
    handler.settings = {{"command", "[python3, " + (folder / "child.py").string() + "]"},
                        {"environment", "{SEEN: " + (folder / "seen").string() + "}"}};
    handler.more = {"concurrency: 2", "retry: {max_attempts: 3, backoff: fixed, base: 50ms}", "lease: 2s"};
    if (!more.empty()) handler.more.push_back(more);
  }
  std::vector<std::string> seen() const {
    std::vector<std::string> out;
    std::ifstream file{folder / "seen"};
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }
  std::string failure() { return database.text("select error_class || ': ' || message from inbox.failures limit 1"); }
  TempFolder folder;
};

}  // namespace

TEST_CASE("a child gets a line for each event and answers each with a line") {
  ExecFixture fixture{"events_per_call: 20"};
  const auto daemon = fixture.start();
  fixture.produce(200);
  CHECK(fixture.wait_done().is_perfect());
  auto seen = fixture.seen();
  CHECK(seen.size() == 200);
  std::sort(seen.begin(), seen.end());
  CHECK(std::unique(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("a child says retry with a delay, dead, or skipped") {
  ExecFixture fixture;
  const auto daemon = fixture.start();
  fixture.produce(1, "Later");
  fixture.produce(1, "Dead");
  fixture.produce(1, "NotMine");
  fixture.produce(1);
  fixture.database.wait_for("all are finished", "select count(*) from inbox.deliveries where finished_at is not null",
                            4);
  CHECK(fixture.database.text("select string_agg(state, ' ' order by state) from inbox.deliveries") ==
        "dead done done skipped");
  CHECK(fixture.database.text("select string_agg(error_class || ': ' || message, ', ' order by error_class) "
                              "from inbox.failures") == "my.class: no way, my.later: busy");
}

// fault: handler crashes (process isolation)
// fault: child process crashes
// fault: child process writes garbage
TEST_CASE("a child that crashes, or writes something else, costs an attempt of the event that it had, and no other") {
  const std::string type = GENERATE("Crash", "Garbage", "Stranger", "Flood");
  ExecFixture fixture{"events_per_call: 10"};
  const auto daemon = fixture.start();
  fixture.produce(10);
  fixture.produce(1, type);
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 1);
  CHECK_THAT(fixture.failure(),
             ContainsSubstring(type == "Crash"      ? "exec.crashed: the program exited with status 3: "
                                                      "out of ideas"
                               : type == "Garbage"  ? "exec.answer: the program wrote a line that is "
                                                      "no answer: it is not JSON, with the mistake at byte 1 of 5"
                               : type == "Stranger" ? "its event_id is of no event that waits"
                                                    : "it is longer than 1 MiB"));
}

TEST_CASE("a child that ends with status 0 after some events costs no attempt, but a child that never answers does") {
  const bool answers = GENERATE(true, false);
  ExecFixture fixture{"events_per_call: 10"};
  std::ofstream{fixture.folder / "child.py"} << (answers ? R"(
import json, sys
for i in range(7):
    print(json.dumps({"event_id": json.loads(sys.stdin.readline())["event_id"], "outcome": "done"}), flush=True)
)"
                                                         : "import sys; sys.stdin.readline()\n");
  fixture.config.handlers[0].more[1] = "retry: {max_attempts: 1}";
  fixture.produce(answers ? 50 : 1);
  const auto daemon = fixture.start();
  if (answers) {
    CHECK(fixture.wait_done().is_perfect());
    CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  } else {
    fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letters", 1);
    CHECK(fixture.failure() == "exec.crashed: the program exited with status 0");
  }
}

// fault: handler loops for ever
// fault: child process hangs
TEST_CASE("a child that hangs is killed at the deadline, with the processes that it has started") {
  ExecFixture fixture{"deadline: 1s"};
  fixture.config.handlers[0].more[1] = "retry: {max_attempts: 1}";
  const auto daemon = fixture.start();
  fixture.produce(1, "Hang");
  fixture.produce(5);
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letters", 1);
  CHECK(fixture.database.text("select min(error_class) from inbox.failures") == "deadline");
  std::ifstream file{fixture.folder / "seen.sleeper"};
  int sleeper = 0;
  file >> sleeper;
  REQUIRE(sleeper > 0);
  wait_until("its process has ended", [&] { return kill(sleeper, 0) != 0; });
  fixture.database.wait_for("the others are done", "select count(*) from inbox.deliveries where state = 'done'", 5);
}

// fault: child process forks
TEST_CASE("no process that a child has started outlives it, not even a process with a session of its own") {
  const std::string mode = GENERATE("stream", "once");
  CAPTURE(mode);
  ExecFixture fixture{"deadline: 1s"};
  const std::string seconds = std::to_string(86'400 + getpid() % 10'000) + (mode == "once" ? ".1" : ".2");
  fixture.config.handlers[0].more[1] = "retry: {max_attempts: 1}";
  fixture.set("environment", "{SEEN: " + (fixture.folder / "seen").string() + ", SLEEP: \"" + seconds + "\"}");
  fixture.set("mode", mode);
  if (mode == "once") {
    fixture.set("command", "[bash, -c, 'setsid -f sleep $$SLEEP; setsid -f bash -c \"sleep $$SLEEP\"']");
  }
  const auto daemon = fixture.start();
  fixture.produce(1, "Escape");
  fixture.database.wait_for("it is finished", "select count(*) from inbox.deliveries where finished_at is not null", 1);
  CHECK(run_to_end({{"pgrep", "-f", "sleep " + seconds}}).out.empty());
}

TEST_CASE("the orphans of a program that lives on are reaped") {
  ExecFixture fixture;
  const auto daemon = fixture.start();
  fixture.produce(30, "Orphan");
  CHECK(fixture.wait_done().is_perfect());
  const std::string id = std::to_string(daemon->process().id());
  wait_until("the daemon's first thread has no child", [&] {
    return run_to_end({{"pgrep", "--parent", id}}).out ==
           run_to_end({{"pgrep", "--parent", id, "--full", "child.py"}}).out;
  });
  CHECK_FALSE(run_to_end({{"pgrep", "--parent", id}}).out.empty());  // the program still lives
}

TEST_CASE("a program that others could exchange is refused, and a script run by an interpreter is warned about") {
  ExecFixture fixture;
  fixture.migrate();
  const auto script = fixture.folder / "script.sh";
  std::ofstream{script} << "#!/bin/sh\n";
  const auto checked = [&](const std::string& given) {
    fixture.set("command", given);
    const auto result = command(fixture.config, {"check"});
    return result.out + result.err;
  };
  std::filesystem::permissions(script, std::filesystem::perms{0777});
  CHECK_THAT(checked("[" + script.string() + "]"),
             ContainsSubstring("is world-writable (mode 0777); run: chmod o-w " + script.string()));
  CHECK_THAT(checked("[sh, " + script.string() + "]"),
             ContainsSubstring("others could exchange the file: " + script.string() + " is world-writable"));
  CHECK_THAT(checked("[sh, /opt/missing.sh]"), ContainsSubstring("there is no file /opt/missing.sh"));
  std::filesystem::permissions(script, std::filesystem::perms{0755});
  CHECK_THAT(checked("[" + script.string() + "]"), !ContainsSubstring("writable"));
  std::filesystem::permissions(fixture.folder.path(), std::filesystem::perms{0777});
  CHECK_THAT(checked("[" + script.string() + "]"), ContainsSubstring("the folder " + fixture.folder.path().string() +
                                                                     " is world-writable (mode 0777)"));
  if (geteuid() != 0) return;
  std::filesystem::permissions(fixture.folder.path(), std::filesystem::perms{0755});
  REQUIRE(chown(script.c_str(), 4'242, 4'242) == 0);
  CHECK_THAT(checked("[" + script.string() + "]"), ContainsSubstring("belongs to user 4242"));
}

TEST_CASE(
    "an event that a child defers comes again uncharged, more often than it may fail; nulls and another spelling of "
    "the id are accepted") {
  ExecFixture fixture;
  const auto daemon = fixture.start();
  const auto id = fixture.produce(1, "NotYet").at(0);
  fixture.produce(1, "Nulls");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  const auto seen = fixture.seen();
  CHECK(std::count(seen.begin(), seen.end(), id + " 1") == 5);  // of max_attempts 3
}

TEST_CASE("a late answer to an earlier attempt does not count for the present attempt") {
  ExecFixture fixture;
  const auto daemon = fixture.start();
  fixture.produce(1, "Late");
  CHECK(fixture.wait_done().is_perfect());
}

// fault: valid JSON behind a byte order mark or a registry prefix, with 30-digit numbers, repeated keys
// fault: NUL behind JSON
TEST_CASE("JSON after a byte order mark or a registry's prefix is the body; what is no JSON is bytes") {
  using namespace std::string_literals;
  ExecFixture fixture;
  const auto daemon = fixture.start();
  std::vector<Message> all;
  for (const std::string& payload : {"\xEF\xBB\xBF{\"n\": 1}"s, "\0\0\0\0\x0C{\"n\": 1}"s,
                                     "{\"n\": 2}\0, \"forged\": 1}"s,
                                     "\0\0\0\0\x0C\x02hi"s}) {
    all.push_back(event_message(fixture.topic, fixture.database.text("select gen_random_uuid()"), payload, "Show"));
  }
  fixture.kafka.produce(all);
  fixture.database.wait_for("all are dead", "select count(*) from inbox.dead_letters", 4);
  CHECK(fixture.database.number("select count(*) from inbox.failures where message like "
                                "'%\"body\": {\"n\": 1}%'") == 2);
  CHECK(fixture.database.number("select count(*) from inbox.failures where message like '%payload_base64%'") == 2);
  CHECK(fixture.database.number("select count(*) from inbox.failures where error_class = 'my.class'") == 0);
}

TEST_CASE("an event is shown whole, and the daemon's environment is not") {
  ExecFixture fixture;
  DaemonProcess daemon{fixture.config, {"run", "--migrate"}, {{"MY_SECRET", "hush"}}};
  daemon.wait_ready();
  auto message = event_message(fixture.topic, "0b000000-0000-4000-8000-000000000000",
                               "{\n  \"big\": 12345678901234567890,\n \"text\": \"\\u00e4\"}", "Show");
  message.key = "a\xff";
  fixture.kafka.produce({message});
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letters", 1);
  const auto shown = fixture.database.text("select message from inbox.failures");
  CHECK_THAT(shown, ContainsSubstring(R"("body": {"big": 12345678901234567890, "text": "\u00e4"})"));
  CHECK_THAT(shown, ContainsSubstring(R"("key_base64": "Yf8=")"));
  CHECK_THAT(shown, ContainsSubstring(R"("attempt": 1)"));
  CHECK_THAT(shown, ContainsSubstring(R"("topic": ")" + fixture.topic + R"(")"));
  CHECK_THAT(shown, !ContainsSubstring("MY_SECRET"));
}

TEST_CASE("a daemon that is killed together with its children loses no event, and the children end") {
  ExecFixture fixture{"events_per_call: 10", 4};
  auto daemon = fixture.start();
  fixture.produce(300);
  wait_until("some are done", [&] { return fixture.seen().size() > 50; });
  daemon->kill();
  daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("events of a key reach the children in log order, through crashes of children and kills of the daemon") {
  const std::string per_call = GENERATE("1", "20");
  CAPTURE(per_call);
  ExecFixture fixture{"mode: sequential", 4};
  fixture.config.handlers[0].more.push_back("events_per_call: " + per_call);
  KeyedEvents events{fixture};
  auto daemon = fixture.start();
  for (int round = 0; round < 3; ++round) {
    const auto before = fixture.seen().size();
    events.produce(400, [&](int i) {
      return KeyedEvents::Made{"key" + std::to_string(i % 20), i % 97 == 5 ? "Crash" : "Happened"};
    });
    wait_until("some are seen", [&] { return fixture.seen().size() > before + 50; });
    daemon->kill();
    daemon = fixture.start();
  }
  CHECK(fixture.wait_done().is_perfect());

  std::map<std::string, int> number_of, made, last;  // of each event among the events of its key
  for (const std::string& id : events.ids()) number_of[id] = made[events.key_of(id)]++;
  for (const std::string& line : fixture.seen()) {
    const std::string id = line.substr(0, line.find(' ')), key = events.key_of(id);
    const auto [known, is_first] = last.try_emplace(key, -1);
    const int number = number_of.at(id);
    // The key's next event, or a repetition; the events of a call may come again together.
    const bool is_in_order =
        number == known->second + 1 || (per_call == "1" ? number == known->second : number <= known->second);
    if (!is_in_order) FAIL_CHECK(key << ": " << number << " after " << known->second);
    known->second = number;
  }
}

TEST_CASE("a process for each event: its exit status decides, its last line of stderr is the message") {
  ExecFixture fixture;
  const int niceness = std::min(getpriority(PRIO_PROCESS, 0) + 7, 19);  // the test may run with a niceness of its own
  std::ofstream{fixture.folder / "child.sh"} << "#!/bin/bash\nniceness=" << niceness << R"bash(
payload=$(cat)
echo "$INBOXD_EVENT_ID $INBOXD_ATTEMPT" >>"$SEEN"
case $INBOXD_TYPE in
    Dead) echo "first" >&2; echo "no way: $payload $INBOXD_KEY" >&2; exit 65 ;;
    Later) if [ "$INBOXD_ATTEMPT" = 1 ]; then echo busy >&2; exit 75; fi ;;
    Killed) if [ "$INBOXD_ATTEMPT" = 1 ]; then kill -9 $$; fi ;;
    Nice) nice | grep -qx "$niceness" ;;
    Background) sleep 1000 & ;;
esac
)bash";
  std::filesystem::permissions(fixture.folder / "child.sh", std::filesystem::perms{0755});
  fixture.set("command", "[" + (fixture.folder / "child.sh").string() + "]");
  fixture.set("mode", "once");
  fixture.set("nice", "7");
  const auto daemon = fixture.start();
  for (const char* const type : {"Dead", "Later", "Killed", "Nice", "Background"}) fixture.produce(1, type);
  fixture.database.wait_for("all are finished", "select count(*) from inbox.deliveries where finished_at is not null",
                            5);
  CHECK(fixture.database.text("select string_agg(state, ' ' order by state) from inbox.deliveries") ==
        "dead done done done done");
  const auto failures = fixture.database.text(
      "select string_agg(error_class || ': ' || message, ', ' order by error_class) from inbox.failures");
  CHECK_THAT(failures, ContainsSubstring("exec.exit_65: no way: {"));
  CHECK_THAT(failures, ContainsSubstring("exec.exit_75: busy"));
  CHECK_THAT(failures, ContainsSubstring("exec.signal_9: the program was killed by signal 9"));
}

TEST_CASE("a process for each event gets the body as stream mode does; bytes that are no JSON come as they are") {
  using namespace std::string_literals;
  const bool unwraps = GENERATE(true, false);
  ExecFixture fixture;
  std::ofstream{fixture.folder / "child.sh"} << "#!/bin/sh\nexec cat > \"$SEEN.$INBOXD_EVENT_ID\"\n";
  std::filesystem::permissions(fixture.folder / "child.sh", std::filesystem::perms{0755});
  fixture.set("command", "[" + (fixture.folder / "child.sh").string() + "]");
  fixture.set("mode", "once");
  if (!unwraps) fixture.config.topics = {"{name: " + fixture.topic + ", unwrap: none}"};
  const std::string wrapped = R"("{\"n\": 1}")";
  const std::vector<std::pair<std::string, std::string>> expected{
      {wrapped, unwraps ? R"({"n": 1})" : wrapped},
      {"\xEF\xBB\xBF{\"n\":  2}", "{\"n\":  2}"},
      {"\0\1\xff"s, "\0\1\xff"s}};
  std::vector<Message> all;
  std::vector<std::string> ids;
  for (const auto& [payload, seen] : expected) {
    ids.push_back(fixture.database.text("select gen_random_uuid()"));
    all.push_back(event_message(fixture.topic, ids.back(), payload));
  }
  fixture.note(ids);
  fixture.kafka.produce(all);
  const auto daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CHECK(read_file(fixture.folder / ("seen." + ids[i])) == expected[i].second);
  }
}

TEST_CASE("the examples for exec do as they say") {
  ExecFixture fixture;
  const std::filesystem::path examples{INBOXD_EXAMPLES};
  const auto yaml = read_file(examples / GENERATE("mailer", "archive") / "inboxd.yaml");
  const bool is_mailer = yaml.find("mailer") != std::string::npos;
  if (is_mailer) {
    fixture.set("command", "[python3, " + (examples / "mailer/mailer.py").string() + "]");
  } else {
    std::filesystem::create_directory(fixture.folder / "archive");
    fixture.set("command", "[" + (examples / "archive/archive.sh").string() + "]");
    fixture.set("mode", "once");
    fixture.set("environment", "{ARCHIVE: " + (fixture.folder / "archive").string() + "}");
  }
  const auto daemon = fixture.start();
  fixture.kafka.produce({event_message(fixture.topic, "0b000000-0000-4000-8000-000000000001",
                                       R"({"email": "a@example.org"})", "OrderPlaced"),
                         event_message(fixture.topic, "0b000000-0000-4000-8000-000000000002", "{}", "Draft")});
  fixture.database.wait_for("both are finished", "select count(*) from inbox.deliveries where finished_at is not null",
                            2);
  CHECK(fixture.database.text("select string_agg(state, ' ' order by event_id) from inbox.deliveries") == "done dead");
  CHECK(fixture.failure() ==
        (is_mailer ? "order.no_email: the order has no email address" : "exec.exit_65: drafts are not archived"));
  if (!is_mailer) {
    CHECK(read_file(fixture.folder / "archive/0b000000-0000-4000-8000-000000000001") ==
          R"({"email": "a@example.org"})");
  }
}

TEST_CASE("mistakes in the settings of exec are refused with the remedy") {
  ExecFixture fixture;
  fixture.migrate();
  const auto refused = [&](const std::string& name, const std::string& value) {
    ExecFixture wrong;
    wrong.set(name, value);
    return command(wrong.config, {"check"}).out;
  };
  CHECK_THAT(refused("command", "[no-such-program]"), ContainsSubstring("there is no program 'no-such-program'"));
  CHECK_THAT(refused("command", "python3"), ContainsSubstring("it must be a list of program and arguments"));
  CHECK_THAT(refused("mode", "twice"), ContainsSubstring("it must be stream or once"));
  CHECK_THAT(refused("user", "no-such-user"), ContainsSubstring("there is no user 'no-such-user'"));
  CHECK_THAT(refused("nice", "50"), ContainsSubstring("0 (normal) to 19"));
  CHECK_THAT(refused("folder", "/no/such"), ContainsSubstring("it must be a folder"));
}

TEST_CASE("a program that cannot be started costs no attempt and is logged once, and its events run once it is there") {
  const std::string mode = GENERATE("stream", "once");
  CAPTURE(mode);
  ExecFixture fixture{"mode: single"};
  fixture.config.handlers[0].more[0] = "concurrency: 8";
  const auto program = fixture.folder / "program.sh";
  std::ofstream{program} << "#!" << (fixture.folder / "python").string() << "\n" << child;
  std::filesystem::permissions(program, std::filesystem::perms{0755});
  fixture.set("command", "[" + program.string() + "]");
  fixture.set("mode", mode);
  const auto daemon = fixture.start();
  fixture.produce(20);
  daemon->wait_log("cannot start " + program.string() + " (or its interpreter)");
  std::ofstream{program} << (mode == "once" ? "#!/bin/sh\n" : std::string{"#!/usr/bin/env python3\n"} + child);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  daemon->wait_log("the program can be started again");
  CHECK(daemon->count_in_log("cannot start") == 1);
}
