// Lost records, records of transactions, and the lag of halted partitions.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

// fault: committed offset below the log start
TEST_CASE("a partition with lost records halts, others continue; once accepted it continues after the gap") {
  DaemonFixture fixture{2};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  auto daemon = fixture.start();
  const auto produce_to = [&](int partition, int count, bool counted) {
    static int number = 0;
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back("1a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(fixture.topic, ids.back()));
      messages.back().partition = partition;
    }
    fixture.kafka.produce(messages);
    if (counted) fixture.note(ids);
  };
  produce_to(0, 10, true);
  produce_to(1, 10, true);
  CHECK(fixture.wait_done().is_perfect());
  daemon->stop();
  produce_to(0, 20, false);
  fixture.kafka.delete_records(fixture.topic, 0, 30);
  produce_to(0, 5, false);
  produce_to(1, 5, true);
  daemon = fixture.start();
  fixture.database.wait_for("it is halted",
                            "select count(*) from inbox.lag where partition = 0 and halted_reason is not null", 1);
  CHECK(fixture.wait_done().is_perfect());
  const auto halted = [&](const std::string& partition) {
    return gauge(port, "inboxd_partition_halted{topic=\"" + fixture.topic + "\",partition=\"" + partition + "\"}");
  };
  wait_until("metrics say which", [&] { return halted("0") == 1; });
  CHECK(halted("1") == 0);
  CHECK(fixture.position(0) == 10);
  CHECK(fixture.database.text("select gap from inbox.shard where partition = 0") == "[10,30)");
  wait_until("its end is not committed",
             [&] { return fixture.kafka.committed(fixture.config.group, fixture.topic)[1] == 15; });
  CHECK(fixture.kafka.committed(fixture.config.group, fixture.topic)[0] == 10);

  const auto dry = command(fixture.config, {"partitions", "accept-gap", fixture.topic, "0", "--dry-run"});
  CHECK(dry.status == ExitStatus{0, 0});
  CHECK(fixture.position(0) == 10);
  const auto accepted = command(fixture.config, {"partitions", "accept-gap", fixture.topic, "0", "--yes"});
  INFO(accepted.out << accepted.err);
  CHECK(accepted.status == ExitStatus{0, 0});
  // It may have rejoined a moment ago, and rejoins at most every 30 s.
  fixture.database.wait_for("it continues behind the gap", "select position from inbox.lag where partition = 0", 35,
                            milliseconds{60'000});
  CHECK(fixture.database.text("select gaps from inbox.shard where partition = 0") == "{[10,30)}");
  CHECK(fixture.database.number("select count(*) from inbox.event") == 30);
  fixture.database.wait_for("all is done", "select sum(inbox.count_of(offsets)) from inbox.outcome", 30);
}

TEST_CASE("the lag of a halted partition grows with new records, also after a restart") {
  DaemonFixture fixture{1};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  daemon->stop();
  fixture.produce(20);
  fixture.kafka.delete_records(fixture.topic, 0, 30);
  daemon = fixture.start();
  fixture.database.wait_for("it is halted", "select count(*) from inbox.lag where halted_reason is not null", 1);
  const auto wait_lag = [&](std::int64_t lag) {
    const milliseconds within{60'000};  // it is checked every 15 s
    fixture.database.wait_for("view lag tells", "select lag from inbox.lag", lag, within);
    const std::string name = "inboxd_partition_lag{topic=\"" + fixture.topic + "\",partition=\"0\"}";
    wait_until(
        "the metric tells " + std::to_string(lag), [&] { return gauge(port, name) == double(lag); }, within);
  };
  wait_lag(20);
  fixture.produce(100);
  wait_lag(120);
  daemon->stop();
  fixture.produce(5);
  daemon = fixture.start();
  wait_lag(125);
}

// fault: aborted Kafka transaction
TEST_CASE("records of an aborted transaction are never stored, and the lag still reaches 0") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(10);
  const auto of = [&](const std::string& id) { return event_message(fixture.topic, id); };
  fixture.kafka.produce_transaction(
      {of("aaaa0000-0000-4000-8000-000000000001"), of("aaaa0000-0000-4000-8000-000000000002")}, false);
  fixture.kafka.produce_transaction({of("cccc0000-0000-4000-8000-000000000001")}, true);
  fixture.note({"cccc0000-0000-4000-8000-000000000001"});
  fixture.kafka.produce_transaction({of("aaaa0000-0000-4000-8000-000000000003")}, false);

  CHECK(fixture.wait_done().is_perfect());
  // Fourteen records and three transaction markers, which the broker writes after the producer's call returns.
  const int end = 17;
  fixture.database.wait_for("the position is at the end", "select position from inbox.lag", end);
  fixture.database.wait_for("the lag is 0", "select lag from inbox.lag where high_watermark = " + std::to_string(end),
                            0);
  CHECK(fixture.database.number("select count(*) from inbox.event where event_id::text like 'aaaa%'") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 11);
}

// fault: open Kafka transaction
TEST_CASE("an open transaction holds back the records after it, and the lag includes them") {
  DaemonFixture fixture{1};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  Transaction open{fixture.kafka.brokers(), {event_message(fixture.topic, "aaaa0000-0000-4000-8000-000000000001")}};
  const auto wait_lag = [&](std::int64_t lag) {
    fixture.database.wait_for("the lag is " + std::to_string(lag), "select lag from inbox.lag", lag);
    const std::string name = "inboxd_partition_lag{topic=\"" + fixture.topic + "\",partition=\"0\"}";
    wait_until("so metrics say", [&] { return gauge(port, name) == static_cast<double>(lag); });
  };
  fixture.produce(5);
  wait_lag(6);
  fixture.produce(1);  // the watermark is read again meanwhile
  wait_lag(7);
  CHECK(fixture.position() == 10);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 10);

  const auto shown = [&] { return command(fixture.config, {"status"}).out; };
  const std::string sentence = "an open transaction holds " + fixture.topic + "/0 back at offset 10 since ";
  fixture.database.wait_for("it is known where and since when it holds the partition back",
                            "select last_stable_offset from inbox.shard where held_since is not null", 10);
  CHECK(shown().find(sentence) == std::string::npos);  // a minute is normal
  fixture.database.run("update inbox.shard set held_since = held_since - interval '1 minute'");
  wait_until("status names it", [&] { return shown().find(sentence) != std::string::npos; });
  CHECK_THAT(shown(), ContainsSubstring("--topic " + fixture.topic + " --partition 0 --start-offset 10"));

  open.abort();
  CHECK(fixture.wait_done().is_perfect());
  wait_lag(0);
  fixture.database.wait_for("it is over", "select count(*) from inbox.shard where held_since is null", 1);
  CHECK(shown().find("an open transaction") == std::string::npos);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 16);
}
