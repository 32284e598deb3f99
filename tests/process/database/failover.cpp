#include <catch2/catch_test_macros.hpp>
#include <map>
#include <numeric>
#include <vector>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "process/support/order_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::string url_of(const PrivatePostgres& first, const PrivatePostgres& second) {
  const auto at = [](const PrivatePostgres& server) { return "127.0.0.1:" + std::to_string(server.port()); };
  return "postgresql://postgres@" + at(first) + "," + at(second) + "/postgres";
}

}  // namespace

// fault: database restored to an earlier state, or failed over asynchronously
// fault: read-only standby reached
TEST_CASE("after the primary crashes under load and its standby is promoted, the daemon continues on the standby") {
  PrivatePostgres primary;
  const auto standby = PrivatePostgres::standby_of(primary);
  const std::string both = url_of(*standby, primary);  // the read-only host comes first
  DaemonFixture fixture{4, both + "?target_session_attrs=read-write"};
  fixture.config.url = both;
  fixture.config.sections["database"] = "deadline: 5s";
  const auto daemon = fixture.start();
  BackgroundProducer producer{fixture, 1000};
  producer.wait_for_more(2000);
  Session copy{standby->url(), fixture.database.schema()};
  copy.wait_for("the standby follows", "select (count(*) > 500)::int from inbox.events", 1);

  const auto stored = fixture.database.number("select count(*) from inbox.events");
  primary.stop();
  producer.wait_for_more(500);  // no host accepts writes meanwhile
  CHECK(daemon->process().is_running());
  standby->promote();
  fixture.database.session().close();
  producer.wait_for_more(1000);
  producer.finish();
  const auto kept = fixture.database.number("select count(*) from inbox.events");
  const auto counts = fixture.wait_done();
  WARN("stored before the primary crashed: " << stored << ", on the standby soon after: " << kept << "; "
                                             << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("events that the database leases to their owner again, after it lost their outcomes, run again in order") {
  PrivatePostgres server;
  OrderFixture fixture{1, {}, server.url()};
  const TempFolder folder;
  const auto gate = folder / "gate";
  fixture.set("gate", gate);
  const auto daemon = fixture.start();
  const auto of_one_key = [](int) { return KeyedEvents::Made{.key = "order"}; };
  fixture.events.produce(3, of_one_key);
  wait_until("the first event is in a call", [&] { return fixture.recording.count() > 0; });
  server.snapshot();  // the three are leased
  write_file(gate, "open");
  fixture.database.session().close();
  REQUIRE(fixture.wait_done().is_perfect());
  fixture.events.produce(3, of_one_key);
  REQUIRE(fixture.wait_done().is_perfect());
  const auto before = fixture.events.calls_of("order").size();

  server.restore();
  fixture.database.session().close();
  const auto counts = fixture.wait_done();
  const auto calls = fixture.events.calls_of("order");
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(std::vector<int>(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end()) ==
        std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(daemon->count_in_log("kind=inbox.server_changed") >= 2);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

// The events that ran on the lost timeline run again before those that its owner still had in memory.
TEST_CASE("after a failover that lost commits, no event is recorded before an earlier one of its key") {
  PrivatePostgres primary;
  const auto standby = PrivatePostgres::standby_of(primary);
  const std::string both = url_of(*standby, primary);
  OrderFixture fixture{1, {}, both + "?target_session_attrs=read-write"};
  fixture.config.url = both;
  fixture.config.handlers[0].plugin = "sql";
  fixture.config.handlers[0].settings = {
      {"statement",
       "insert into " + fixture.database.schema() + ".run (event_id) select event_id from events, pg_sleep(0.1)"}};
  fixture.migrate();
  fixture.database.run("create table inbox.run (place bigserial primary key, event_id uuid not null)");
  const auto daemon = fixture.start();
  fixture.events.produce(200, [](int i) { return KeyedEvents::Made{.key = "key" + std::to_string(i % 10)}; });
  fixture.database.wait_for("some have run", "select (count(*) >= 10)::int from inbox.run", 1);
  Session copy{standby->url(), fixture.database.schema()};
  copy.run("alter system set primary_conninfo = ''");  // from here on it lacks the commits
  copy.run("select pg_reload_conf()");
  copy.wait_for("it receives nothing", "select count(*) from pg_stat_wal_receiver", 0);
  const auto kept = fixture.database.number("select count(*) from inbox.run");
  fixture.database.wait_for("more have run",
                            "select (count(*) >= " + std::to_string(kept + 20) + ")::int from inbox.run", 1);
  primary.stop();
  CHECK(copy.number("select count(*) from inbox.run") < kept + 20);
  standby->promote();
  fixture.database.session().close();
  CHECK(fixture.wait_done().is_perfect());
  std::map<std::string, int> numbers;
  for (std::size_t i = 0; i < fixture.ids().size(); ++i) numbers[fixture.ids()[i]] = static_cast<int>(i);
  std::map<int, int> last;  // by key
  int out_of_order = 0;
  for (const auto& row : fixture.database.rows("select event_id::text from inbox.run order by place")) {
    const int number = numbers.at(row[0].value_or(""));
    if (number < last[number % 10]) ++out_of_order;
    last[number % 10] = number;
  }
  CHECK(out_of_order == 0);
  CHECK(kept < 200);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("a restart of PostgreSQL repeats only running calls, and no other instance begins one beside them") {
  PrivatePostgres server;
  OrderFixture fixture{1, {}, server.url()};
  const TempFolder folder;
  const auto gate = folder / "gate";
  fixture.set("gate", gate);
  const auto daemon = fixture.start();
  fixture.events.produce(20, [](int) { return KeyedEvents::Made{.key = "order"}; });
  wait_until("the first event is in a call", [&] { return fixture.recording.count() > 0; });
  DaemonProcess other{fixture.config};
  other.wait_ready();

  server.stop();
  server.start();
  fixture.database.session().close();
  // The other instance looks for sequences without an owner every second.
  wait_until("both have found the other server process", [&] {
    return daemon->count_in_log("kind=inbox.server_changed") > 0 && other.count_in_log("kind=inbox.server_changed") > 0;
  });
  fixture.database.wait_for("both have beaten since",
                            "select count(*) from inbox.instance where stopped_at is null "
                            "and last_seen_at > pg_postmaster_start_time() + interval '3 s'",
                            2);
  write_file(gate, "open");
  CHECK(fixture.wait_done().is_perfect());
  std::vector<int> wanted(21);
  std::iota(wanted.begin() + 1, wanted.end(), 0);  // the first event's call ran meanwhile
  CHECK(fixture.events.calls_of("order") == wanted);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(other.stop() == ExitStatus{0, 0});
}

// The outcome is in doubt, and the restart has changed the fence of its row.
TEST_CASE("after a restart of PostgreSQL amid a settlement, an event runs again before the next event of its key") {
  PrivatePostgres server;
  OrderFixture fixture{1, {}, server.url()};
  const auto daemon = fixture.start();
  Session other{server.url(), fixture.database.schema()};
  other.run("begin");
  other.run("lock table inbox.outcome in share mode");
  fixture.events.produce(20, [](int) { return KeyedEvents::Made{.key = "order"}; });
  fixture.database.wait_for("the first outcome waits",
                            "select count(*) from pg_stat_activity where application_name = 'inboxd settler' "
                            "and wait_event_type = 'Lock'",
                            1);
  server.stop();
  server.start();
  fixture.database.session().close();
  CHECK(fixture.wait_done().is_perfect());
  std::vector<int> wanted(21);
  std::iota(wanted.begin() + 1, wanted.end(), 0);  // the first event's outcome was lost
  CHECK(fixture.events.calls_of("order") == wanted);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
