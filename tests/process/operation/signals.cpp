// Signals and systemd.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "process/support/application.hpp"
#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

TEST_CASE("SIGTERM under load: running calls finish, the rest is given back uncharged, exit 0 in time") {
  Stage stage{2};
  stage.set("takes", "30ms");
  auto daemon = stage.start();
  stage.produce(500);
  wait_until("it is at work", [&] { return stage.recording.count() > 10; });
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  const auto tally = stage.tally();
  WARN("stopped within " << took << " ms: " << tally.text());
  CHECK(took < 20'000);
  CHECK(tally.done == tally.calls);  // every call that began was settled
  CHECK(stage.database.number("select count(*) from inbox.delivery where owner is not null") == 0);
  CHECK(stage.database.number("select count(*) from inbox.delivery where attempts > 0 or claims > 0") == 0);
  CHECK(stage.database.number("select count(*) from inbox.failure") == 0);
  CHECK(stage.offsets_ahead() == 0);
  CHECK(daemon->notified().count("STOPPING=1") == 1);

  stage.set("takes", "0ms");
  daemon = stage.start();
  const auto all = stage.wait_done();
  CHECK(all.is_perfect());
  CHECK(all.calls == 500);
}

TEST_CASE("after SIGTERM nothing more is stored, while calls that run have their time") {
  Stage stage{1};
  const TempFolder folder;
  stage.set("gate", folder / "gate");
  stage.config.sections["shutdown"] = "drain: 30s";
  auto daemon = stage.start();
  stage.produce(5);
  wait_until("it is at work", [&] { return stage.recording.count() >= 1; });
  daemon->process().signal(SIGTERM);
  daemon->wait_log("daemon: stopping");
  stage.produce(100);
  holds_for("what comes now is for the next start", milliseconds{1'000},
            [&] { return stage.database.number("select count(*) from inbox.event") == 5; });
  write_file(folder / "gate", "open");
  CHECK(daemon->process().wait() == ExitStatus{0, 0});
  CHECK(stage.database.number("select count(*) from inbox.event") == 5);
  // Its way out is told to the group, too, without waiting for the next time.
  CHECK(stage.kafka.committed(stage.config.group, stage.topic) == std::map<int, std::int64_t>{{0, 5}});
  daemon = stage.start();
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE(
    "a call that does not end within the drain is left behind, and its events are somebody else's at once or later") {
  Stage stage{1};
  const TempFolder folder;
  stage.set("gate", folder / "gate");
  stage.config.sections["shutdown"] = "drain: 1s";
  stage.config.sections["handler_defaults"] = "lease: 2s, concurrency: 1, events_per_call: 5, deadline: 60s";
  auto daemon = stage.start();
  stage.produce(20);
  wait_until("it is at work", [&] { return stage.recording.count() >= 1; });
  const auto began = monotonic_ms();
  daemon->stop();
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms, drain 1 s");
  CHECK(took < 20'000);
  // The gate saw that it is cancelled and said so: an interruption, which costs no attempt.
  CHECK(stage.database.number("select count(*) from inbox.failure") == 0);
  CHECK(stage.database.number("select count(*) from inbox.delivery where attempts > 0 or owner is not null") == 0);
  write_file(folder / "gate", "open");
  daemon = stage.start();
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("SIGTERM while the database hangs, in a statement or in being connected to: the end comes with the drain") {
  const bool connects = GENERATE(false, true);
  Stage stage{2};
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  stage.config.sections["shutdown"] = "drain: 1s";
  stage.config.sections["database"] = "deadline: 30s";
  stage.config.sections["handler_defaults"] = "lease: 30s";
  auto daemon = stage.start();
  stage.produce(50);
  CHECK(stage.wait_done().is_perfect());
  proxy.freeze(true);
  if (connects) proxy.cut();  // a frozen proxy takes no connections
  stage.produce(50);
  holds_for("nothing gets through", milliseconds{700}, [&] { return stage.recording.count() == 50; });
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN((connects ? "connecting" : "in a statement") << ": stopped within " << took << " ms, drain 1 s");
  CHECK(took < 15'000);
  proxy.freeze(false);
  daemon = stage.start();
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("a reload that waits for a database that hangs: systemd hears that all is well, and SIGTERM ends it") {
  Stage stage{1};
  stage.migrate();
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  stage.config.sections["shutdown"] = "drain: 1s";
  stage.config.sections["database"] = "deadline: 30s";
  Daemon daemon{stage.config, {"run"}, {{"WATCHDOG_USEC", "1000000"}}};
  daemon.wait_ready();
  const auto hang_in_reload = [&](int number) {
    proxy.freeze(true);
    daemon.process().signal(SIGHUP);
    wait_until("it reloads", [&] { return daemon.notified().count("RELOADING=1") == number; });
    const auto before = daemon.notified().count("WATCHDOG=1");
    wait_until(
        "it says that it lives", [&] { return daemon.notified().count("WATCHDOG=1") >= before + 3; },
        milliseconds{5'000});
    CHECK(daemon.notified().count("READY=1") == number);
  };
  hang_in_reload(1);
  daemon.process().signal(SIGUSR1);
  daemon.wait_log("all handlers are paused", 1, milliseconds{2'000});
  proxy.freeze(false);
  daemon.wait_log("daemon: reloaded");
  wait_until("it is ready again", [&] { return daemon.notified().count("READY=1") == 2; });

  hang_in_reload(2);
  const auto began = monotonic_ms();
  CHECK(daemon.stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms, drain 1 s");
  CHECK(took < 15'000);
}

TEST_CASE("SIGTERM while the start waits for a database that hangs, in a statement or in being connected to") {
  const bool connects = GENERATE(false, true);
  Stage stage{1};
  stage.migrate();
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  stage.config.sections["database"] = "deadline: 30s";
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(free_port()) + "'";
  if (connects) proxy.freeze(true);
  proxy.cut_at(Proxy::executes("make_partitions"), Proxy::Cut::hold);
  Daemon daemon{stage.config, {"run"}};
  if (connects) {
    daemon.wait_log("admin: listening");
  } else {
    wait_until("it hangs", [&] { return proxy.cuts() == 1; });
  }
  const auto began = monotonic_ms();
  CHECK(daemon.stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN((connects ? "connecting" : "in a statement") << ": left within " << took << " ms");
  CHECK(took < 15'000);
}

TEST_CASE("SIGTERM while a plugin is being made, at a start or in a reload: the end comes with the drain") {
  const bool reloads = GENERATE(false, true);
  const bool comes_back = GENERATE(false, true);
  Stage stage{1};
  stage.migrate();
  const TempFolder folder;
  const auto gate = folder / "gate";
  stage.config.sections["shutdown"] = comes_back ? "drain: 30s" : "drain: 1s";
  if (!reloads) stage.set("create_gate", gate);
  Daemon daemon{stage.config, {"run"}};
  if (reloads) {
    daemon.wait_ready();
    stage.set("create_gate", gate);
    daemon.write_config(stage.config.text());
    daemon.process().signal(SIGHUP);
  }
  wait_until("the plugin is being made", [&] { return std::filesystem::exists(folder / "gate.reached"); });
  const auto began = monotonic_ms();
  daemon.process().signal(SIGTERM);
  if (comes_back) {
    wait_until("it is stopping", [&] { return daemon.notified().has_begun_with("STATUS=stopping"); });
    write_file(gate, "open");
  }
  CHECK(daemon.process().wait() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN((reloads ? "reload" : "start") << (comes_back ? ", it comes back" : ", it does not") << ": " << took << " ms");
  CHECK(took < 15'000);
  CHECK(daemon.count_in_log("does not come back from being made") == (comes_back ? 0 : 1));
}

TEST_CASE("SIGTERM while nobody knows what became of a handler's COMMIT: the end comes with the drain") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  Proxy proxy{port_of(stage.config.url)};
  stage.config.handlers = {app.statement("set", books_each, {"events_per_call: 100", "concurrency: 1", "lease: 2s"})};
  stage.migrate();
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  stage.config.sections["shutdown"] = "drain: 1s";
  auto daemon = stage.start();
  proxy.cut_at(std::string{"commit\0", 7}, Proxy::Cut::hold);
  stage.produce(50);
  wait_until("a COMMIT is on its way", [&] { return proxy.cuts() == 1; });
  proxy.freeze(true);
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms, drain 1 s");
  CHECK(took < 20'000);
  daemon.reset();
  proxy.freeze(false);
  proxy.cut();
  daemon = stage.start();
  CHECK(stage.wait_done("set").is_perfect());
  CHECK(app.booked() == 50);
  CHECK(app.booked_events() == 50);
}

TEST_CASE("a second SIGTERM leaves at once") {
  Stage stage{1};
  const TempFolder folder;
  stage.set("gate", folder / "gate");
  stage.config.sections["shutdown"] = "drain: 1m";
  // The gate lets go of a call that is cancelled: this one is not, for its deadline is far off.
  stage.config.sections["handler_defaults"] = "lease: 2s, concurrency: 1, events_per_call: 5, deadline: 5m";
  auto daemon = stage.start();
  stage.produce(5);
  wait_until("it is at work", [&] { return stage.recording.count() >= 1; });
  daemon->process().signal(SIGTERM);
  wait_until("it is stopping", [&] { return daemon->notified().count("STOPPING=1") == 1; });
  daemon->wait_log("daemon: stopping");
  holds_for("it drains", milliseconds{500}, [&] { return daemon->process().is_running(); });
  const auto began = monotonic_ms();
  daemon->process().signal(SIGTERM);
  CHECK(daemon->process().wait() == ExitStatus{128 + SIGTERM, 0});
  CHECK(monotonic_ms() - began < 15'000);
  write_file(folder / "gate", "open");
  daemon = stage.start();
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("SIGHUP with a bad file keeps the old configuration; with a good one the handlers are the new ones") {
  Stage stage{1};
  const auto daemon = stage.start();
  stage.produce(20);
  CHECK(stage.wait_done().is_perfect());

  daemon->write_config("database: {url: x}\nbogus: true\n");
  daemon->process().signal(SIGHUP);
  daemon->wait_log("reload refused, the old configuration stays");
  stage.produce(20);
  CHECK(stage.wait_done().is_perfect());

  auto with_bad_plugin = stage.config;
  with_bad_plugin.handlers[0].plugin = "/nonexistent/plugin.so";
  daemon->write_config(with_bad_plugin.text());
  const int refusals = daemon->count_in_log("reload refused");
  daemon->process().signal(SIGHUP);
  daemon->wait_log("reload refused", refusals + 1);
  stage.produce(20);
  CHECK(stage.wait_done().is_perfect());

  auto added = stage.config.handlers[0];
  added.name = "added";
  added.start = "beginning";
  stage.config.handlers.push_back(added);
  daemon->write_config(stage.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("daemon: reloaded");
  stage.produce(20);
  CHECK(stage.wait_done("recorder").is_perfect());
  const auto tally = stage.wait_done("added");
  CHECK(tally.is_perfect());
  CHECK(tally.calls == 80);
}

TEST_CASE("SIGHUP with properties that the client library does not take is refused as a whole") {
  Stage stage{1};
  const auto daemon = stage.start();
  auto wrong = stage.config;
  wrong.kafka["sesion.timeout.ms"] = "6000";
  wrong.kafka["session.timeout.ms"] = "abc";
  wrong.handlers.push_back({.name = "added", .plugin = "log"});
  daemon->write_config(wrong.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("reload refused, the old configuration stays", 2);
  daemon->wait_log("inboxd.yaml:9:5: kafka.properties.sesion.timeout.ms: librdkafka ");
  daemon->wait_log("inboxd.yaml:10:25: kafka.properties.session.timeout.ms: librdkafka ");
  stage.produce(20);
  CHECK(stage.wait_done().is_perfect());
  CHECK(stage.database.session().number("select count(*) from inbox.handler where name = 'added'") == 0);

  daemon->write_config(stage.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("daemon: reloaded");
  CHECK(daemon->count_in_log("daemon: reloaded") == 1);
}

TEST_CASE("a reload that sets log.format back to auto writes what auto means where the log goes: JSON in a file") {
  Stage stage{1};
  const auto daemon = stage.start();
  CHECK(daemon->count_in_log("\n{") == 0);
  stage.config.sections["log"] = "level: debug, format: auto";
  daemon->write_config(stage.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("daemon: reloaded");
  CHECK(daemon->count_in_log("\n{") > 0);
}

TEST_CASE("a reload of which it is in doubt whether the database took it is not refused, but asked about") {
  const auto [statement, cut] = GENERATE(table<std::string, Proxy::Cut>({{"instance_takes_up", Proxy::Cut::after},
                                                                         {"read_routing", Proxy::Cut::after},
                                                                         {"read_routing", Proxy::Cut::hold}}));
  Stage stage{1};
  Proxy proxy{port_of(stage.config.url)};
  stage.config.url = url_with_port(stage.config.url, proxy.port());
  stage.config.sections["database"] = "deadline: 2s";
  const auto daemon = stage.start();
  auto added = stage.config.handlers[0];
  added.name = "added";
  stage.config.handlers.push_back(added);
  daemon->write_config(stage.config.text());
  proxy.cut_at(Proxy::executes(statement), cut);
  daemon->process().signal(SIGHUP);
  daemon->wait_log("daemon: reloaded");
  CHECK(proxy.cuts() == 1);
  stage.produce(20);
  CHECK(stage.wait_done("added").is_perfect());
}

TEST_CASE("a reload of a handler that the database has just forgotten puts it back as the one that it was") {
  Stage stage{1};
  const auto daemon = stage.start();
  const auto handler = stage.database.number("select handler_id from inbox.handler");
  stage.database.run("delete from inbox.handler");
  daemon->process().signal(SIGHUP);
  daemon->wait_log("daemon: reloaded");
  daemon->wait_log("the database had forgotten a handler");
  CHECK(stage.database.number("select handler_id from inbox.handler") == handler);
}

TEST_CASE("reloads under load lose and double nothing") {
  Stage stage{2};
  const auto daemon = stage.start();
  Load load{stage, 1000};
  for (int i = 1; i <= 8; ++i) {
    load.wait_for_more(200);
    stage.set("takes", std::to_string(i % 3) + "ms");
    daemon->write_config(stage.config.text());
    daemon->process().signal(SIGHUP);
    daemon->wait_log("daemon: reloaded", i);
  }
  load.finish();
  const auto tally = stage.wait_done();
  WARN("8 reloads: " << tally.text());
  CHECK(tally.is_perfect());
}

TEST_CASE(
    "SIGUSR1 pauses all handlers of the instance, status says so at once and the audit by whom; SIGUSR2 lets them go "
    "on") {
  Stage stage{1};
  const auto daemon = stage.start();
  const auto is_told = [&] {
    return command(stage.config, {"status", "--json"}).out.find("paused in this instance") != std::string::npos;
  };
  CHECK_FALSE(is_told());
  daemon->process().signal(SIGUSR1);
  daemon->wait_log("all handlers are paused");
  wait_until("status says so", is_told, milliseconds{5'000});
  stage.produce(30);
  stage.wait_stored(30);
  holds_for("nothing is handled", milliseconds{700}, [&] { return stage.recording.count() == 0; });
  daemon->process().signal(SIGUSR2);
  CHECK(stage.wait_done().is_perfect());
  wait_until(
      "status no longer says so", [&] { return !is_told(); }, milliseconds{5'000});
  const std::string by = "uid " + std::to_string(getuid());
  stage.database.wait_for("both are in the audit",
                          "select count(*) from inbox.audit where (actor, operation) in (('" + by +
                              ", SIGUSR1', 'instance pause'), ('" + by + ", SIGUSR2', 'instance resume'))",
                          2);
  daemon->process().signal(SIGUSR2);  // changes nothing: no deed
  daemon->wait_log("all handlers go on", 2);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(stage.database.number("select count(*) from inbox.audit where operation like 'instance %'") == 2);
}

TEST_CASE("systemd is told READY, WATCHDOG, RELOADING, STOPPING; the watchdog stops when the process does") {
  Stage stage{1};
  Daemon daemon{stage.config, {"run", "--migrate"}, {{"WATCHDOG_USEC", "1000000"}}};
  daemon.wait_ready();
  wait_until("it says that it lives", [&] { return daemon.notified().count("WATCHDOG=1") >= 3; });
  daemon.process().signal(SIGSTOP);
  const auto frozen = daemon.notified().count("WATCHDOG=1");
  holds_for("a frozen process does not", milliseconds{1500},
            [&] { return daemon.notified().count("WATCHDOG=1") <= frozen + 1; });
  daemon.process().signal(SIGCONT);
  wait_until("it says so again", [&] { return daemon.notified().count("WATCHDOG=1") > frozen + 1; });
  daemon.process().signal(SIGHUP);
  wait_until("a reload is told",
             [&] { return daemon.notified().count("RELOADING=1") == 1 && daemon.notified().count("READY=1") == 2; });
  stage.produce(100);
  wait_until("the status tells of it", [&] {
    const auto lines = daemon.notified().lines();
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.starts_with("STATUS=reads 1 of 1 partitions, lag ") && line.find("; 0 stored/s") == line.npos &&
             line.ends_with(" done/s");
    });
  });
  CHECK(daemon.stop() == ExitStatus{0, 0});
  CHECK(daemon.notified().count("STOPPING=1") == 1);
  auto lines = daemon.notified().lines();
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("STATUS="); });
  CHECK(lines.front() == "READY=1");
}

TEST_CASE("run without the migrations says what to do and leaves") {
  Stage stage{1};
  Daemon daemon{stage.config, {"run"}};
  CHECK(daemon.process().wait() == ExitStatus{75, 0});
  CHECK(daemon.log().find("inboxd migrate") != std::string::npos);
  CHECK(command(stage.config, {"migrate", "--check"}).status == ExitStatus{1, 0});
  stage.migrate();
  CHECK(command(stage.config, {"migrate", "--check"}).status == ExitStatus{0, 0});
  stage.database.run("insert into inbox.migration (version, name, digest) values (9999, 'future', '')");
  Daemon older{stage.config, {"run", "--migrate"}};
  CHECK(older.process().wait() == ExitStatus{78, 0});
  CHECK(older.log().find("9999") != std::string::npos);
}
