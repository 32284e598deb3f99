#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

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
  /// The sessions of killed daemons wait, too.
  void wait_for_calls(int count) {
    fixture_.app.wait_for("a call waits at the gate",
                          "select count(distinct pid) from pg_locks where pid in (select pid from pg_locks where "
                          "relation = 'app.gate'::regclass and mode = 'RowShareLock' and granted) and not granted",
                          count);
  }

 private:
  BatchFixture& fixture_;
  Session session_;
};

}  // namespace

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
  for (int i = 0; i < kills; ++i) {
    gate.wait_for_calls(i + 1);
    daemon->kill();
    daemon = fixture.start();
  }
  gate.open();
  fixture.wait_applied(450);
  CHECK(fixture.app.text("select string_agg(events || ': ' || first_offset || '-' || last_offset, ', ' order by call) "
                         "from app.calls") == "200: 0-199, 200: 200-399, 50: 400-449");
  CHECK(fixture.wait_done("batch").is_perfect());
}
