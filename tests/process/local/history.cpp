// Local events beside a restore, a replay, a back-fill and an instance with another configuration.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/local/local_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/wait.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("after a restore, events that were waiting or unhandled at the copy are handled, and ids are free again") {
  PrivatePostgres server;
  LocalFixture fixture{server.url(), {}};
  const auto count = [&] { return fixture.database.number("select count(*) from inbox.event"); };
  const auto in_new_session = [&](auto change) {
    fixture.database.session().close();
    change();
    fixture.database.session().close();
  };
  auto daemon = fixture.start();
  for (int i = 0; i < 5; ++i) fixture.enqueue();
  fixture.wait_done(5);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const std::string waiting = fixture.enqueue();
  in_new_session([&] { server.snapshot(); });
  daemon = fixture.start();
  const std::string lost = fixture.enqueue();
  fixture.wait_done(7);
  in_new_session([&] { server.restore(); });
  fixture.wait_done(6);
  CHECK(fixture.database.text("select event_id from inbox.event order by \"offset\" desc limit 1") == waiting);
  CHECK(fixture.enqueue("made", ", event_id => '" + lost + "'") == lost);
  fixture.wait_done(7);
  CHECK(count() == 7);
  CHECK(fixture.database.number("select count(*) from inbox.local_event") == 0);
  // The database lost two of the calls, so that they were made again.
  CHECK(fixture.recording.calls_by_event().size() == 7);
}

TEST_CASE("dead local events are replayed, and a new handler gets all of them by its back-fill") {
  LocalFixture fixture{{"retry: {max_attempts: 1}"}};
  fixture.config.handlers[0].settings["fail_type"] = "bad";
  auto daemon = fixture.start();
  for (int i = 0; i < 3; ++i) fixture.enqueue("bad", ", key => 'k'");
  fixture.enqueue();
  fixture.wait_done(1);
  fixture.database.wait_for("three are dead", "select count(*) from inbox.dead_letter where state = 'dead'", 3);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.config.handlers[0].settings.erase("fail_type");
  HandlerText second;
  second.name = "second";
  second.settings["file"] = fixture.recording.file();
  fixture.config.handlers.push_back(second);
  daemon = fixture.start();
  CHECK(command(fixture.config, {"dead", "replay", "--handler", fixture.config.handlers[0].name, "--yes"}).status ==
        ExitStatus{0, 0});
  fixture.wait_done(4 + 4);
  CHECK(fixture.recording.calls_by_event("second").size() == 4);
}

TEST_CASE("beside an instance without the topic, and after its own stop, each event is handled once") {
  LocalFixture fixture;
  const auto full = fixture.start();
  ConfigText without = fixture.config;
  without.topics = {"{name: other, source: local}"};
  const DaemonProcess bare{without};
  for (int i = 0; i < 100; ++i) fixture.enqueue();
  fixture.wait_done(100);
  CHECK(full->stop() == ExitStatus{0, 0});
  // The other instance reads each topic that was ever declared.
  for (int i = 0; i < 20; ++i) fixture.enqueue();
  fixture.database.wait_for("all are stored", "select count(*) from inbox.event", 120);
  const auto again = fixture.start();
  fixture.wait_done(120);
  CHECK(fixture.recording.count() == 120);
}
