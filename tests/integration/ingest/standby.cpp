#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <thread>
#include <variant>

#include "consumer/position_lookup.hpp"
#include "integration/support/inbox.hpp"
#include "support/kafka.hpp"
#include "support/private_postgres.hpp"
#include "unit/kafka/client.hpp"

using namespace inboxd;
using namespace inboxd::support;
using inbox::Fault;

namespace {

/// A server whose synchronous standby is missing, and a batch of a single event.
struct MissingStandby {
  MissingStandby() {
    server.lose_standby();
    batch.at(shard, 0).events(1);
  }
  /// Stores the batch while an operator releases the session that waits for the standby. Returns the error that the
  /// daemon sees.
  inbox::DatabaseFailure store_and_release(const std::string& how) {
    inbox.connection().open();
    std::string ended;
    std::thread operator_thread{[&] {
      Session session{server.url(), inbox.database().schema()};
      session.wait_for("the commit waits", "select count(*) from pg_stat_activity where wait_event = 'SyncRep'", 1);
      ended = session.text("select " + how + "(pid) from pg_stat_activity where wait_event = 'SyncRep'");
    }};
    const auto failure = failure_of([&] { batch.store(inbox.connection()); });
    operator_thread.join();
    CHECK(ended == "t");
    return failure;
  }
  std::unique_ptr<inbox::Connection> impatient() {
    auto settings = inbox.settings();
    settings.deadline = milliseconds{500};
    return inbox.connect(settings);
  }
  void give_up_standby() { server.configure("synchronous_standby_names = ''"); }

  PrivatePostgres server;
  Inbox inbox{server.url()};
  const std::int32_t shard = inbox.add_shard("orders");
  Batch batch{inbox};
};

}  // namespace

// fault: synchronous standby gone: COMMIT hangs
// fault: COMMIT returns with the sync-replication warning (01000/57P01)
TEST_CASE("a commit that did not wait for its synchronous standby is in doubt") {
  MissingStandby test;
  SECTION("because the server released the waiting session") {
    // An ended session has a SQLSTATE, too (57P01), but the connection is lost.
    const auto [lets_go, sqlstate] =
        GENERATE(table<std::string, std::string>({{"pg_cancel_backend", "01000"}, {"pg_terminate_backend", ""}}));
    const auto failure = test.store_and_release(lets_go);
    CHECK(failure.fault == Fault::in_doubt);
    CHECK(failure.sqlstate == sqlstate);
  }
  SECTION("because the deadline passed") {
    const auto connection = test.impatient();
    CHECK(failure_of([&] { test.batch.store(*connection); }).fault == Fault::in_doubt);
    CHECK(failure_of([&] { test.batch.store(*connection); }).fault == Fault::reconnect);
  }
  test.give_up_standby();
}

// fault: COMMIT returns with the sync-replication warning (01000/57P01)
TEST_CASE("a batch found stored is reported only once the synchronous standby has it") {
  MissingStandby test;
  CHECK(test.store_and_release("pg_cancel_backend").fault == Fault::in_doubt);
  const auto connection = test.impatient();
  CHECK(failure_of([&] { test.batch.store(*connection); }).fault == Fault::in_doubt);
  test.give_up_standby();
  CHECK(test.batch.store(test.inbox.connection()).mismatched == std::vector{test.shard});
  CHECK(test.inbox.database().number("select count(*) from inbox.event") == 1);
}

// fault: COMMIT returns with the sync-replication warning (01000/57P01)
TEST_CASE("a position that the synchronous standby lacks is neither read from nor committed to the group") {
  MissingStandby test;
  CHECK(test.store_and_release("pg_cancel_backend").fault == Fault::in_doubt);
  const std::string brokers = Kafka{}.brokers();
  const kafka::Client member = kafka::client_of(brokers), lookup_client = kafka::client_of(brokers);
  config::Topic orders;
  orders.name = "orders";
  const config::Topics topics{{orders}};
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  // As another instance that was assigned the partition. The brokers have no such topic, so no other id of it.
  const auto look_up = [&](inbox::Connection& connection) {
    return consumer::look_up(
        connection, {member.get(), lookup_client.get()}, topics, {"orders", 0}, "", [] {}, log);
  };
  const auto connection = test.impatient();
  CHECK(failure_of([&] { look_up(*connection); }).fault == Fault::in_doubt);
  CHECK(failure_of([&] { look_up(*connection); }).fault == Fault::reconnect);

  test.give_up_standby();
  const auto found = look_up(test.inbox.connection());
  REQUIRE(std::holds_alternative<consumer::Ready>(found));
  CHECK(std::get<consumer::Ready>(found).position.next_offset == 1);
}
