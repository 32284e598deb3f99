// A daemon that is killed on either side of the COMMIT of its only batch.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <memory>
#include <string>

#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A daemon that has handled ten events, whose offset is committed.
struct KilledFixture : DaemonFixture {
  KilledFixture() : DaemonFixture{1} {}
  bool is_group_at(std::int64_t offset) {
    return kafka.committed(config.group, topic) == std::map<int, std::int64_t>{{0, offset}};
  }
  std::unique_ptr<DaemonProcess> start_with_ten_events() {
    auto daemon = start();
    produce(10);
    CHECK(wait_done().is_perfect());
    wait_until("the offset is committed", [&] { return is_group_at(10); });
    return daemon;
  }
  /// The events of the batch are called once each.
  void finish() {
    const auto daemon = start();
    const auto counts = wait_done();
    CHECK(counts.is_perfect());
    CHECK(counts.calls == counts.produced);
    wait_until("the offset follows", [&] { return is_group_at(60); });
  }
};

}  // namespace

// fault: killed before the database commit
TEST_CASE("a batch whose daemon is killed before COMMIT leaves nothing, and its records are read and handled once") {
  KilledFixture fixture;
  const auto daemon = fixture.start_with_ten_events();
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; lock table inbox.ledger in exclusive mode");
  fixture.produce(50);
  const std::string waiting = "from pg_stat_activity where application_name like 'inboxd ingest%' and "
                              "wait_event_type = 'Lock' and query like '%" + fixture.database.schema() + "%'";
  fixture.database.wait_for("the batch's transaction waits", "select count(*) " + waiting, 1);
  daemon->kill();
  fixture.database.run("select pg_terminate_backend(pid) " + waiting);  // the server would notice within seconds
  fixture.database.wait_for("its session has ended", "select count(*) " + waiting, 0);
  holder.run("rollback");
  CHECK(fixture.database.number("select count(*) from inbox.event") == 10);
  CHECK(fixture.position() == 10);
  CHECK(fixture.is_group_at(10));
  fixture.finish();
}

// fault: killed between database and Kafka commit
TEST_CASE("a batch whose daemon is killed after COMMIT is not stored again, and each of its events is called once") {
  KilledFixture fixture;
  const std::string direct = fixture.config.url;
  Proxy proxy{port_of(direct)};
  fixture.config.url = url_with_port(direct, proxy.port());
  const auto daemon = fixture.start_with_ten_events();
  proxy.cut_at(Proxy::executes("ingest"), Proxy::Cut::hold);
  fixture.produce(50);
  wait_until("a batch is committed without an answer", [&] { return fixture.position() > 10; });
  CHECK(proxy.cuts() == 1);
  daemon->kill();
  CHECK(fixture.is_group_at(10));
  fixture.config.url = direct;
  fixture.finish();
}
