#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "process/outbox/outbox_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

const std::string owner = "select coalesce(owner::text, '') from inbox.relay";

}  // namespace

// fault: two relays
TEST_CASE(
    "of two daemons one sends; the other takes over at once after a stop, and within the lease after a crash",
    "[alone]") {
  OutboxFixture fixture;
  auto first = fixture.start();
  first->wait_log("relay: sends the outbox");
  auto second = fixture.start();
  fixture.publish(2'000);
  fixture.wait_received(2'000);
  CHECK(second->count_in_log("relay: sends the outbox") == 0);
  CHECK(first->stop() == ExitStatus{0, 0});
  second->wait_log("relay: sends the outbox", 1, milliseconds{1'900});
  fixture.publish(2'000, 2'000);
  fixture.wait_received(4'000);
  first = fixture.start();
  fixture.publish(2'000, 4'000);
  second->kill();
  first->wait_log("relay: sends the outbox", 1, milliseconds{5'000});
  fixture.wait_received(6'000);
  fixture.wait_empty();
  CHECK(fixture.out_of_order() == 0);
}

// fault: relay killed between publish and delete
TEST_CASE("messages whose relay is killed before it deletes them are sent again under the same ids, in order") {
  OutboxFixture fixture;
  fixture.database.run(
      "create function inbox.waits() returns trigger language plpgsql as $$ begin "
      "perform pg_advisory_xact_lock('inbox.outbox'::regclass::oid::bigint); return null; end $$; "
      "create trigger waits before delete on inbox.outbox for each statement execute function inbox.waits()");
  auto daemon = fixture.start();
  fixture.publish(20);  // a producer's first message of a partition is sent alone
  fixture.wait_received(20);
  fixture.wait_empty();
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; select pg_advisory_xact_lock('inbox.outbox'::regclass::oid::bigint)");
  fixture.publish(100, 20);
  fixture.wait_received(120);
  const std::string waiting = "from pg_locks where locktype = 'advisory' and not granted and "
                              "objid = 'inbox.outbox'::regclass::oid";
  fixture.database.wait_for("the relay waits to delete them", "select count(*) " + waiting, 1);
  daemon->kill();
  fixture.database.run("select pg_terminate_backend(pid) " + waiting);  // the server would notice within seconds
  fixture.database.wait_for("its session has ended", "select count(*) " + waiting, 0);
  holder.run("commit");
  CHECK(fixture.left() == 100);
  CHECK(fixture.records() == 120);
  daemon = fixture.start();
  wait_until("all are sent again", [&] { return fixture.records() == 220; });
  fixture.wait_empty();
  fixture.database.wait_for("all are read", "select sum(position)::int from inbox.lag", 220);
  CHECK(fixture.received() == 120);
  CHECK(fixture.out_of_order() == 0);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

// fault: a zombie relay
TEST_CASE("a relay that was suspended beyond its lease changes nothing, and repeats at most the same ids", "[alone]") {
  OutboxFixture fixture;
  auto zombie = fixture.start();
  zombie->wait_log("relay: sends the outbox");
  const std::string first_owner = fixture.database.text(owner);
  fixture.publish(500);
  zombie->process().signal(SIGSTOP);
  auto next = fixture.start();
  next->wait_log("relay: sends the outbox", 1, milliseconds{10'000});
  const std::string second_owner = fixture.database.text(owner);
  CHECK(second_owner != first_owner);
  fixture.publish(500, 500);
  zombie->process().signal(SIGCONT);
  zombie->wait_log("relay: lease lost");
  fixture.publish(500, 1'000);
  fixture.wait_received(1'500);
  fixture.wait_empty();
  CHECK(fixture.database.text(owner) == second_owner);
  CHECK(fixture.out_of_order() == 0);
}

TEST_CASE("while the brokers are away, messages wait in the database, in bounded memory, and then arrive in order") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  OutboxFixture fixture;
  fixture.config.brokers = "127.0.0.1:" + needed("INBOXD_TEST_KAFKA_PROXY_PORT");
  fixture.config.sections["outbox"] = "lease: 2s, in_flight_messages: 500, batch: 200";
  // The client forgets its topics during the outage, as it would in an outage of an hour.
  fixture.config.kafka["metadata.max.age.ms"] = "1000";
  fixture.config.kafka["topic.metadata.refresh.interval.ms"] = "500";
  auto daemon = fixture.start();
  daemon->wait_log("relay: sends the outbox");
  fixture.publish(100);
  fixture.wait_received(100);
  proxy.refuse(true);
  proxy.cut();
  const std::string other = fixture.kafka.create_topic(1);  // that the client has never asked for
  fixture.publish(other, "k", "{}");
  fixture.publish(200'000, 100);
  fixture.database.wait_for("the lease is renewed", "select count(*) from inbox.relay where leased_until > "
                                                    "clock_timestamp() + interval '1 s'", 1);
  holds_for("nothing is deleted, the memory is bounded", milliseconds{8'000}, [&] {
    return fixture.left() == 200'001 && resident_bytes(daemon->process().id()) < 200u << 20;
  });
  CHECK(daemon->count_in_log("relay: lease lost") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.outbox_waiting") == 0);
  proxy.refuse(false);
  fixture.wait_received(200'100);
  fixture.wait_empty();
  CHECK(fixture.out_of_order() == 0);
  CHECK(fixture.kafka.ends(other).at(0) == 1);
}

TEST_CASE("a message with the number of a message that a failover has lost is sent") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  OutboxFixture fixture{1};
  fixture.config.brokers = "127.0.0.1:" + needed("INBOXD_TEST_KAFKA_PROXY_PORT");
  const auto daemon = fixture.start();
  fixture.publish(100);
  fixture.wait_received(100);
  fixture.wait_empty();
  proxy.delay(milliseconds{2'000});
  fixture.publish(10, 100);
  wait_until("the brokers have them, and the relay has no acknowledgement", [&] { return fixture.records() == 110; });
  // As if they were lost, and others came meanwhile, through a pooler that hides the failover.
  fixture.database.run("update inbox.outbox set message_id = gen_random_uuid(), key = '\\x6b31', "
                       "payload = convert_to(jsonb_build_object('n', 1000 + outbox_id)::text, 'UTF8')");
  proxy.delay(milliseconds{0});
  daemon->wait_log("relay: the database has lost commits");
  fixture.wait_received(120);
  fixture.wait_empty();
  CHECK(daemon->count_in_log("relay: lease lost") == 0);
}

TEST_CASE("messages below the low-water mark, as after a restore, are found by the next relay") {
  OutboxFixture fixture;
  fixture.database.run("update inbox.relay set low_water = 1000000");
  fixture.publish(100);
  const auto daemon = fixture.start();
  fixture.wait_received(100);
  fixture.wait_empty();
}
