#include <catch2/catch_test_macros.hpp>
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

TEST_CASE("a restart of PostgreSQL repeats no call of a sequence, and no other instance begins one beside it") {
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
  std::vector<int> each_once(20);
  std::iota(each_once.begin(), each_once.end(), 0);
  CHECK(fixture.events.calls_of("order") == each_once);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(other.stop() == ExitStatus{0, 0});
}
