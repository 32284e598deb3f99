#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>

#include "process/support/batch_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Holds the calls of a batch handler at a locked row.
class Gate final {
 public:
  explicit Gate(BatchFixture& fixture)
      : fixture_{fixture}, session_{fixture.database.url(), fixture.database.schema()} {
    fixture.app.run("create table app.gate (id int); insert into app.gate values (1)");
    auto& statement = fixture.config.handlers[0].settings["statement"];
    statement.insert(1, fixture.app.named("with open as materialized (select 1 from app.gate for share) "));
    statement.replace(statement.find(") with call as") + 1, 6, ",");
    statement.replace(statement.rfind("from events"), 11, "from events, open");
    close();
  }
  void close() { session_.run(fixture_.app.named("begin; select from app.gate for update")); }
  void open() { session_.run("commit"); }
  /// Of a session that is newer than `since`: sessions of killed daemons wait, too.
  void wait_for_call(const std::string& since) {
    fixture_.app.wait_for("a call waits at the gate",
                          "select (count(*) > 0)::int from pg_locks g join pg_locks w using (pid) "
                          "join pg_stat_activity a using (pid) where g.relation = 'app.gate'::regclass and g.granted "
                          "and not w.granted and a.backend_start > '" +
                              since + "'",
                          1);
  }

 private:
  BatchFixture& fixture_;
  Session session_;
};

/// Number and amount of the orders of a product.
struct Report {
  int orders = 0;
  int amount = 0;

  void add(int n) {
    ++orders;
    amount += n;
  }
  [[nodiscard]] std::string text() const { return std::to_string(orders) + " " + std::to_string(amount); }
};

/// Calls of `size` events in the order of arrival, the last call smaller, as BatchFixture::calls shows them.
std::string full_calls(int events, int size) {
  std::string text;
  for (int first = 0; first < events; first += size) {
    const int count = std::min(size, events - first);
    text += (text.empty() ? "" : ", ") + std::to_string(count) + ": " + std::to_string(first) + "-" +
            std::to_string(first + count - 1);
  }
  return text;
}

}  // namespace

// fault: window's owner killed in the middle
// fault: the owner of a batch window killed in a call
TEST_CASE("after its owner is killed in a call, a window has the same calls again") {
  const int kills = GENERATE(1, 4);
  CAPTURE(kills);
  BatchFixture fixture{"every: 365d, max_events: 200", {"lease: 1s", "max_crashes: 10", "concurrency: 1"}};
  fixture.config.sections["ingest"] = "batch_events: 30";
  Gate gate{fixture};
  auto daemon = fixture.start();
  fixture.events.produce(450, [](int i) { return KeyedEvents::Made{"key" + std::to_string(i % 7)}; });
  fixture.wait_stored(450);
  fixture.close_window();
  std::string since = "-infinity";
  for (int i = 0; i < kills; ++i) {
    gate.wait_for_call(since);
    daemon->kill();
    since = fixture.app.text("select clock_timestamp()");
    daemon = fixture.start();
  }
  gate.open();
  fixture.wait_applied(450);
  CHECK(fixture.calls() == "200: 0-199, 200: 200-399, 50: 400-449");
  CHECK(fixture.wait_done("batch").is_perfect());
}

// fault: the owner of a batch window killed in a call
TEST_CASE("after its owner is killed in a call of thousands of events, a report of the window counts each order once") {
  const int orders = is_long() ? 17'308 : 5'300;
  BatchFixture fixture{"every: 365d, max_events: 2000", {"lease: 1s", "concurrency: 1"}};
  fixture.config.sections["ingest"] = "batch_events: 50";
  fixture.app.run("create table app.report (product text, orders bigint, amount bigint)");
  auto& statement = fixture.config.handlers[0].settings["statement"];
  statement.insert(statement.rfind(" insert into"), fixture.app.named(
      ", report as (insert into app.report select key, count(*), sum((body->>''n'')::int) from events group by key)"));
  Report tea;
  Report coffee;
  for (int i = 0; i < orders; ++i) (i % 3 == 0 ? tea : coffee).add(i % 10);
  const std::string expected = "coffee " + coffee.text() + ", tea " + tea.text();
  Gate gate{fixture};
  auto daemon = fixture.start();
  fixture.events.produce(orders, [](int i) {
    return KeyedEvents::Made{i % 3 == 0 ? "tea" : "coffee", "Ordered", "{\"n\": " + std::to_string(i % 10) + "}"};
  });
  fixture.wait_stored(orders);
  fixture.close_window();
  gate.wait_for_call("-infinity");
  daemon->kill();
  const std::string since = fixture.app.text("select clock_timestamp()");
  daemon = fixture.start();
  gate.wait_for_call(since);
  gate.open();
  fixture.wait_applied(orders);
  CHECK(fixture.calls() == full_calls(orders, 2'000));
  CHECK(fixture.app.text("select string_agg(product || ' ' || orders || ' ' || amount, ', ' order by product) from "
                         "(select product, sum(orders) orders, sum(amount) amount from app.report group by 1) r") ==
        expected);
  CHECK(daemon->count_in_log("halved") == 0);
  CHECK(fixture.wait_done("batch").is_perfect());
}

TEST_CASE("a call of a window that crashes max_crashes times is halved, which the log says") {
  BatchFixture fixture{"every: 365d, max_events: 200", {"lease: 1s", "max_crashes: 4", "concurrency: 1"}};
  fixture.config.sections["ingest"] = "batch_events: 30";
  Gate gate{fixture};
  auto daemon = fixture.start();
  fixture.events.produce(450, [](int) { return KeyedEvents::Made{"key"}; });
  fixture.wait_stored(450);
  fixture.close_window();
  std::string since = "-infinity";
  for (int crash = 1; crash <= 4; ++crash) {
    gate.wait_for_call(since);
    CHECK(daemon->count_in_log("halved") == 0);
    daemon->kill();
    since = fixture.app.text("select clock_timestamp()");
    if (crash == 4) gate.open();
    daemon = fixture.start();
  }
  fixture.wait_applied(450);
  // The events that crashed together are halved again and again: an event that crashes would soon be alone.
  CHECK(fixture.calls() ==
        "100: 0-99, 50: 100-149, 25: 150-174, 12: 175-186, 6: 187-192, 3: 193-195, 2: 196-197, "
        "1: 198-198, 1: 199-199, 200: 200-399, 50: 400-449");
  CHECK(daemon->count_in_log("crashed max_crashes times, halved handler=batch events=100 crashes=4 max_crashes=4") ==
        1);
  CHECK(fixture.wait_done("batch").is_perfect());
}
