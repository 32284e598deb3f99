#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "process/support/application.hpp"
#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

// fault: SIGTERM under load
TEST_CASE("SIGTERM under load finishes running calls, releases the other events uncharged and exits with 0 in time") {
  DaemonFixture fixture{2};
  fixture.set("takes", "30ms");
  auto daemon = fixture.start();
  fixture.produce(500);
  wait_until("it is at work", [&] { return fixture.recording.count() > 10; });
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  const auto counts = fixture.counts();
  WARN("stopped within " << took << " ms: " << counts.text());
  CHECK(took < 20'000);
  CHECK(counts.done == counts.calls);  // every started call was settled
  CHECK(fixture.database.number("select count(*) from inbox.delivery where owner is not null") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.delivery where attempts > 0 or claims > 0") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);
  CHECK(fixture.offsets_ahead() == 0);
  CHECK(daemon->notified().count("STOPPING=1") == 1);

  fixture.set("takes", "0ms");
  daemon = fixture.start();
  const auto all = fixture.wait_done();
  CHECK(all.is_perfect());
  CHECK(all.calls == 500);
}

TEST_CASE("after SIGTERM nothing more is stored, while running calls may finish") {
  DaemonFixture fixture{1};
  const TempFolder folder;
  fixture.set("gate", folder / "gate");
  fixture.config.sections["shutdown"] = "drain: 30s";
  auto daemon = fixture.start();
  fixture.produce(5);
  wait_until("it is at work", [&] { return fixture.recording.count() >= 1; });
  daemon->process().signal(SIGTERM);
  daemon->wait_log("kind=daemon.stopping");
  fixture.produce(100);
  holds_for("what comes now is for the next start", milliseconds{1'000},
            [&] { return fixture.database.number("select count(*) from inbox.event") == 5; });
  write_file(folder / "gate", "open");
  CHECK(daemon->process().wait() == ExitStatus{0, 0});
  CHECK(fixture.database.number("select count(*) from inbox.event") == 5);
  // The offsets are committed at the stop, without waiting for the interval.
  CHECK(fixture.kafka.committed(fixture.config.group, fixture.topic) == std::map<int, std::int64_t>{{0, 5}});
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("a call that does not end within the drain is abandoned, and its events are due again") {
  DaemonFixture fixture{1};
  const TempFolder folder;
  fixture.set("gate", folder / "gate");
  fixture.config.sections["shutdown"] = "drain: 1s";
  fixture.config.sections["handler_defaults"] = "lease: 2s, concurrency: 1, events_per_call: 5, deadline: 60s";
  auto daemon = fixture.start();
  fixture.produce(20);
  wait_until("it is at work", [&] { return fixture.recording.count() >= 1; });
  const auto began = monotonic_ms();
  daemon->stop();
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms, drain 1 s");
  CHECK(took < 20'000);
  // The gate saw the cancellation: an interruption, which costs no attempt.
  CHECK(fixture.database.number("select count(*) from inbox.failure") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.delivery where attempts > 0 or owner is not null") == 0);
  write_file(folder / "gate", "open");
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("SIGTERM while the database hangs, in a statement or while connecting, exits after the drain") {
  const bool connects = GENERATE(false, true);
  DaemonFixture fixture{2};
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  fixture.config.sections["shutdown"] = "drain: 1s";
  fixture.config.sections["database"] = "deadline: 30s";
  fixture.config.sections["handler_defaults"] = "lease: 30s";
  auto daemon = fixture.start();
  fixture.produce(50);
  CHECK(fixture.wait_done().is_perfect());
  proxy.freeze(true);
  if (connects) proxy.cut();  // a frozen proxy accepts no connections
  fixture.produce(50);
  holds_for("nothing gets through", milliseconds{700}, [&] { return fixture.recording.count() == 50; });
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN((connects ? "connecting" : "in a statement") << ": stopped within " << took << " ms, drain 1 s");
  CHECK(took < 15'000);
  proxy.freeze(false);
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("a reload that waits for a hanging database keeps the watchdog alive, and SIGTERM ends it", "[alone]") {
  DaemonFixture fixture{1};
  fixture.migrate();
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  fixture.config.sections["shutdown"] = "drain: 1s";
  fixture.config.sections["database"] = "deadline: 30s";
  DaemonProcess daemon{fixture.config, {"run"}, {{"WATCHDOG_USEC", "1000000"}}};
  daemon.wait_ready();
  const auto hang_in_reload = [&](int number) {
    proxy.freeze(true);
    daemon.process().signal(SIGHUP);
    wait_until("it reloads", [&] { return daemon.notified().count("RELOADING=1") == number; });
    const auto before = daemon.notified().count("WATCHDOG=1");
    wait_until(
        "it sends a watchdog notification", [&] { return daemon.notified().count("WATCHDOG=1") >= before + 3; },
        milliseconds{5'000});
    CHECK(daemon.notified().count("READY=1") == number);
  };
  hang_in_reload(1);
  daemon.process().signal(SIGUSR1);
  daemon.wait_log("kind=daemon.handlers_paused", 1, milliseconds{2'000});
  proxy.freeze(false);
  daemon.wait_log("kind=daemon.reloaded");
  wait_until("it is ready again", [&] { return daemon.notified().count("READY=1") == 2; });

  hang_in_reload(2);
  const auto began = monotonic_ms();
  CHECK(daemon.stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms, drain 1 s");
  CHECK(took < 15'000);
}

TEST_CASE("SIGTERM ends a start that waits for a hanging database, in a statement or while connecting") {
  const bool connects = GENERATE(false, true);
  DaemonFixture fixture{1};
  fixture.migrate();
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  fixture.config.sections["database"] = "deadline: 30s";
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(free_port()) + "'";
  if (connects) proxy.freeze(true);
  proxy.cut_at(Proxy::executes("make_partitions"), Proxy::Cut::hold);
  DaemonProcess daemon{fixture.config, {"run"}};
  if (connects) {
    daemon.wait_log("kind=admin.listening");
  } else {
    wait_until("it hangs", [&] { return proxy.cuts() == 1; });
  }
  const auto began = monotonic_ms();
  CHECK(daemon.stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN((connects ? "connecting" : "in a statement") << ": left within " << took << " ms");
  CHECK(took < 15'000);
}

TEST_CASE("SIGTERM while a plugin is created, at a start or in a reload, exits after the drain") {
  const bool reloads = GENERATE(false, true);
  const bool comes_back = GENERATE(false, true);
  DaemonFixture fixture{1};
  fixture.migrate();
  const TempFolder folder;
  const auto gate = folder / "gate";
  fixture.config.sections["shutdown"] = comes_back ? "drain: 30s" : "drain: 1s";
  if (!reloads) fixture.set("create_gate", gate);
  DaemonProcess daemon{fixture.config, {"run"}};
  if (reloads) {
    daemon.wait_ready();
    fixture.set("create_gate", gate);
    daemon.write_config(fixture.config.text());
    daemon.process().signal(SIGHUP);
  }
  wait_until("the plugin is being made", [&] { return std::filesystem::exists(folder / "gate.reached"); });
  const auto began = monotonic_ms();
  daemon.process().signal(SIGTERM);
  if (comes_back) {
    wait_until("it is stopping", [&] { return daemon.notified().has_line_starting_with("STATUS=stopping"); });
    write_file(gate, "open");
  }
  CHECK(daemon.process().wait() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN((reloads ? "reload" : "start") << (comes_back ? ", it comes back" : ", it does not") << ": " << took << " ms");
  CHECK(took < 15'000);
  CHECK(daemon.count_in_log("kind=daemon.plugin_create_hangs") == (comes_back ? 0 : 1));
}

TEST_CASE("SIGTERM while a handler's COMMIT is in doubt exits after the drain") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.handlers = {
      app.statement("set", insert_each, {"events_per_call: 100", "concurrency: 1", "lease: 2s"})};
  fixture.migrate();
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  fixture.config.sections["shutdown"] = "drain: 1s";
  auto daemon = fixture.start();
  proxy.cut_at(std::string{"commit\0", 7}, Proxy::Cut::hold);
  fixture.produce(50);
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
  daemon = fixture.start();
  CHECK(fixture.wait_done("set").is_perfect());
  CHECK(app.applied() == 50);
  CHECK(app.applied_events() == 50);
}

// fault: a second SIGTERM
TEST_CASE("a second SIGTERM exits at once") {
  DaemonFixture fixture{1};
  const TempFolder folder;
  fixture.set("gate", folder / "gate");
  fixture.config.sections["shutdown"] = "drain: 1m";
  // The gate releases cancelled calls; this call is not cancelled, because its deadline is far off.
  fixture.config.sections["handler_defaults"] = "lease: 2s, concurrency: 1, events_per_call: 5, deadline: 5m";
  auto daemon = fixture.start();
  fixture.produce(5);
  wait_until("it is at work", [&] { return fixture.recording.count() >= 1; });
  daemon->process().signal(SIGTERM);
  wait_until("it is stopping", [&] { return daemon->notified().count("STOPPING=1") == 1; });
  daemon->wait_log("kind=daemon.stopping");
  holds_for("it drains", milliseconds{500}, [&] { return daemon->process().is_running(); });
  const auto began = monotonic_ms();
  daemon->process().signal(SIGTERM);
  CHECK(daemon->process().wait() == ExitStatus{128 + SIGTERM, 0});
  CHECK(monotonic_ms() - began < 15'000);
  write_file(folder / "gate", "open");
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
}

// fault: SIGHUP with a bad file
TEST_CASE("SIGHUP with an invalid file keeps the old configuration; with a valid file the handlers change") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());

  daemon->write_config("database: {url: x}\nbogus: true\n");
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reload_refused");
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());

  auto with_bad_plugin = fixture.config;
  with_bad_plugin.handlers[0].plugin = "/nonexistent/plugin.so";
  daemon->write_config(with_bad_plugin.text());
  const int refusals = daemon->count_in_log("kind=daemon.reload_refused");
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reload_refused", refusals + 1);
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());

  auto added = fixture.config.handlers[0];
  added.name = "added";
  added.start = "beginning";
  fixture.config.handlers.push_back(added);
  daemon->write_config(fixture.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  fixture.produce(20);
  CHECK(fixture.wait_done("recorder").is_perfect());
  const auto counts = fixture.wait_done("added");
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 80);
}

TEST_CASE("SIGHUP with properties that the client library refuses is refused as a whole") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  auto wrong = fixture.config;
  wrong.kafka["sesion.timeout.ms"] = "6000";
  wrong.kafka["session.timeout.ms"] = "abc";
  wrong.handlers.push_back({.name = "added", .plugin = "log"});
  daemon->write_config(wrong.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reload_refused", 2);
  daemon->wait_log("inboxd.yaml:9:5: kafka.properties.sesion.timeout.ms: librdkafka ");
  daemon->wait_log("inboxd.yaml:10:25: kafka.properties.session.timeout.ms: librdkafka ");
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.session().number("select count(*) from inbox.handler where name = 'added'") == 0);

  daemon->write_config(fixture.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  CHECK(daemon->count_in_log("kind=daemon.reloaded") == 1);
}

TEST_CASE("a reload that sets log.format to auto writes JSON to a file") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  CHECK(daemon->count_in_log("\n{") == 0);
  fixture.config.sections["log"] = "level: debug, format: auto";
  daemon->write_config(fixture.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("\"kind\":\"daemon.reloaded\"");
  CHECK(daemon->count_in_log("\n{") > 0);
}

TEST_CASE("a reload whose COMMIT is in doubt is not refused: the daemon looks up the outcome") {
  const auto [statement, cut] = GENERATE(table<std::string, Proxy::Cut>({{"instance_registers", Proxy::Cut::after},
                                                                         {"read_routing", Proxy::Cut::after},
                                                                         {"read_routing", Proxy::Cut::hold}}));
  DaemonFixture fixture{1};
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  fixture.config.sections["database"] = "deadline: 2s";
  const auto daemon = fixture.start();
  auto added = fixture.config.handlers[0];
  added.name = "added";
  fixture.config.handlers.push_back(added);
  daemon->write_config(fixture.config.text());
  proxy.cut_at(Proxy::executes(statement), cut);
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  CHECK(proxy.cuts() == 1);
  fixture.produce(20);
  CHECK(fixture.wait_done("added").is_perfect());
}

TEST_CASE("a reload puts a handler that the database has just lost back under its id") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  const auto handler = fixture.database.number("select handler_id from inbox.handler");
  fixture.database.run("delete from inbox.handler");
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  daemon->wait_log(".handler_restored");  // logged by the reload or by maintenance
  CHECK(fixture.database.number("select handler_id from inbox.handler") == handler);
}

TEST_CASE("reloads under load lose and double nothing") {
  DaemonFixture fixture{2};
  const auto daemon = fixture.start();
  BackgroundProducer producer{fixture, 1000};
  for (int i = 1; i <= 8; ++i) {
    producer.wait_for_more(200);
    fixture.set("takes", std::to_string(i % 3) + "ms");
    daemon->write_config(fixture.config.text());
    daemon->process().signal(SIGHUP);
    daemon->wait_log("kind=daemon.reloaded", i);
  }
  producer.finish();
  const auto counts = fixture.wait_done();
  WARN("8 reloads: " << counts.text());
  CHECK(counts.is_perfect());
}

TEST_CASE("SIGUSR1 pauses all handlers of the instance, with status and audit entry; SIGUSR2 resumes them") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  const auto is_notified = [&] {
    return command(fixture.config, {"status", "--json"}).out.find("paused in this instance") != std::string::npos;
  };
  CHECK_FALSE(is_notified());
  daemon->process().signal(SIGUSR1);
  daemon->wait_log("kind=daemon.handlers_paused");
  wait_until("status says so", is_notified);
  fixture.produce(30);
  fixture.wait_stored(30);
  holds_for("nothing is handled", milliseconds{700}, [&] { return fixture.recording.count() == 0; });
  daemon->process().signal(SIGUSR2);
  CHECK(fixture.wait_done().is_perfect());
  wait_until("status no longer says so", [&] { return !is_notified(); });
  const std::string by = "uid " + std::to_string(getuid());
  fixture.database.wait_for("both are in the audit",
                            "select count(*) from inbox.audit where (actor, operation) in (('" + by +
                                ", SIGUSR1', 'instance pause'), ('" + by + ", SIGUSR2', 'instance resume'))",
                            2);
  daemon->process().signal(SIGUSR2);  // changes nothing: no audit entry
  daemon->wait_log("kind=daemon.handlers_resumed", 2);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(fixture.database.number("select count(*) from inbox.audit where operation like 'instance %'") == 2);
}

TEST_CASE("systemd gets READY, WATCHDOG, RELOADING and STOPPING; the watchdog stops with the process") {
  DaemonFixture fixture{1};
  DaemonProcess daemon{fixture.config, {"run", "--migrate"}, {{"WATCHDOG_USEC", "1000000"}}};
  daemon.wait_ready();
  wait_until("it sends a watchdog notification", [&] { return daemon.notified().count("WATCHDOG=1") >= 3; });
  daemon.process().signal(SIGSTOP);
  const auto frozen = daemon.notified().count("WATCHDOG=1");
  holds_for("a frozen process does not", milliseconds{1500},
            [&] { return daemon.notified().count("WATCHDOG=1") <= frozen + 1; });
  daemon.process().signal(SIGCONT);
  wait_until("it says so again", [&] { return daemon.notified().count("WATCHDOG=1") > frozen + 1; });
  daemon.process().signal(SIGHUP);
  wait_until("a reload is notified",
             [&] { return daemon.notified().count("RELOADING=1") == 1 && daemon.notified().count("READY=1") == 2; });
  fixture.produce(100);
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

// fault: two versions side by side during a rolling upgrade
TEST_CASE("run without the migrations exits and names the remedy") {
  DaemonFixture fixture{1};
  DaemonProcess daemon{fixture.config, {"run"}};
  CHECK(daemon.process().wait() == ExitStatus{75, 0});
  CHECK(daemon.log().find("inboxd migrate") != std::string::npos);
  CHECK(command(fixture.config, {"migrate", "--check"}).status == ExitStatus{1, 0});
  fixture.migrate();
  CHECK(command(fixture.config, {"migrate", "--check"}).status == ExitStatus{0, 0});
  fixture.database.run("insert into inbox.migration (version, name, digest) values (9999, 'future', '')");
  DaemonProcess older{fixture.config, {"run", "--migrate"}};
  CHECK(older.process().wait() == ExitStatus{78, 0});
  CHECK(older.log().find("9999") != std::string::npos);
}
