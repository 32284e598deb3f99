// A synchronous standby that is gone: what is stored here and not there is told to nobody.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <thread>
#include <variant>

#include "consumer/partitions.hpp"
#include "integration/support/inbox.hpp"
#include "support/kafka.hpp"
#include "support/private_postgres.hpp"
#include "unit/kafka/client.hpp"

using namespace inboxd;
using namespace inboxd::support;
using inbox::Fault;

namespace {

/// A server whose synchronous standby is gone, and a batch of one event that is to be stored there.
struct Lonely {
  Lonely() {
    server.lose_standby();
    batch.at(shard, 0).events(1);
  }
  /// Stores it, while somebody lets go of the session that waits for the standby, and returns what the daemon hears.
  inbox::DatabaseFailure store_let_go(const std::string& how) {
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

TEST_CASE("a commit that did not wait for its synchronous standby is in doubt") {
  Lonely lonely;
  SECTION("because the server let go of the waiting session") {
    // The end of a session has a word, too (57P01), but the connection is what is lost.
    const auto [lets_go, sqlstate] =
        GENERATE(table<std::string, std::string>({{"pg_cancel_backend", "01000"}, {"pg_terminate_backend", ""}}));
    const auto failure = lonely.store_let_go(lets_go);
    CHECK(failure.fault == Fault::in_doubt);
    CHECK(failure.sqlstate == sqlstate);
  }
  SECTION("because the deadline passed") {
    const auto connection = lonely.impatient();
    CHECK(failure_of([&] { lonely.batch.store(*connection); }).fault == Fault::in_doubt);
    CHECK(failure_of([&] { lonely.batch.store(*connection); }).fault == Fault::reconnect);
  }
  lonely.give_up_standby();
}

TEST_CASE("a batch that turns out stored is not told as such before the synchronous standby has it") {
  Lonely lonely;
  CHECK(lonely.store_let_go("pg_cancel_backend").fault == Fault::in_doubt);
  const auto connection = lonely.impatient();
  CHECK(failure_of([&] { lonely.batch.store(*connection); }).fault == Fault::in_doubt);
  lonely.give_up_standby();
  CHECK(lonely.batch.store(lonely.inbox.connection()).mismatched == std::vector{lonely.shard});
  CHECK(lonely.inbox.database().number("select count(*) from inbox.event") == 1);
}

TEST_CASE("a position that the synchronous standby does not have is not read on from, nor told to the group") {
  Lonely lonely;
  CHECK(lonely.store_let_go("pg_cancel_backend").fault == Fault::in_doubt);
  const std::string brokers = Kafka{}.brokers();
  const kafka::Client member = kafka::client_of(brokers), asker = kafka::client_of(brokers);
  config::Topic orders;
  orders.name = "orders";
  const consumer::Topics topics{{orders}};
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  // As another instance does that was given the partition. The brokers know no such topic, so no other id of it.
  const auto look_up = [&](inbox::Connection& connection) {
    return consumer::look_up(connection, {member.get(), asker.get()}, topics, {"orders", 0}, "", [] {}, log);
  };
  const auto connection = lonely.impatient();
  CHECK(failure_of([&] { look_up(*connection); }).fault == Fault::in_doubt);
  CHECK(failure_of([&] { look_up(*connection); }).fault == Fault::reconnect);

  lonely.give_up_standby();
  const auto found = look_up(lonely.inbox.connection());
  REQUIRE(std::holds_alternative<consumer::Ready>(found));
  CHECK(std::get<consumer::Ready>(found).position.next_offset == 1);
}
