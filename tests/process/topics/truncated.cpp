// Truncated logs: an unclean election, a restored volume. Real brokers do not do that on command.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int cut = 0, whole = 1;

/// A DaemonFixture on mock brokers with two partitions.
struct TruncatedLogFixture {
  TruncatedLogFixture() {
    brokers.serve(fixture.config);
    brokers.create_topic(fixture.topic, 2);
  }
  void produce(int partition, int count) {
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back("5a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(fixture.topic, ids.back()));
      messages.back().partition = partition;
    }
    kafka.produce(messages);
    fixture.note(ids);
  }
  /// Reads 100 records; then the log of `cut` loses its last 20 of 120, and gets 150 others.
  void truncate_log() {
    auto daemon = fixture.start();
    produce(cut, 100);
    produce(whole, 10);
    fixture.wait_done();
    daemon->stop();
    fixture.database.run(
        "update inbox.position p set next_offset = 120 from inbox.shard s "
        "where s.shard_id = p.shard_id and s.partition = 0 and p.next_offset = 100");
    brokers.elect_leader(fixture.topic, cut);
    produce(cut, 150);
  }
  std::int64_t halted_with(const std::string& reason) {
    return fixture.database.number("select count(*) from inbox.lag where partition = 0 and halted_reason like $1",
                                   {reason});
  }
  void accept() {
    const auto accepted =
        command(fixture.config, {"partitions", "accept-gap", fixture.topic, std::to_string(cut), "--yes"});
    INFO(accepted.out << accepted.err);
    CHECK(accepted.status == ExitStatus{0, 0});
  }

  MockBrokers brokers;
  Kafka kafka{brokers.addresses()};
  DaemonFixture fixture{1};
  int number = 0;
};

}  // namespace

TEST_CASE("a truncated log that has grown past the position halts, and is read from the truncation once accepted") {
  TruncatedLogFixture log;
  DaemonFixture& fixture = log.fixture;
  log.truncate_log();
  const auto daemon = fixture.start();
  wait_until("it is halted", [&] { return log.halted_with("the log was truncated at 100%") == 1; });
  CHECK(fixture.database.text("select gap from inbox.shard where partition = 0") == "[100,120)");
  log.produce(whole, 20);
  fixture.database.wait_for("the other partition continues", "select position from inbox.lag where partition = 1", 30);
  holds_for("no partition is revoked", milliseconds{6'000},
            [&] { return daemon->count_in_log("kind=consumer.partitions_revoked") == 0; });
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring("truncated"));
  CHECK(fixture.position(cut) == 120);

  log.accept();
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(fixture.position(cut) == 250);
  CHECK(fixture.database.number("select count(distinct shard_id) from inbox.event") == 3);
}

TEST_CASE("a log truncated at an unknown offset is read from its beginning, without storing events again") {
  TruncatedLogFixture log;
  DaemonFixture& fixture = log.fixture;
  log.truncate_log();
  // An epoch that these brokers never had.
  fixture.database.run(
      "update inbox.position p set leader_epoch = 1000 from inbox.shard s "
      "where s.shard_id = p.shard_id and s.partition = 0");
  const auto daemon = fixture.start();
  wait_until("it is halted", [&] { return log.halted_with("%at an unknown offset%") == 1; });
  CHECK(fixture.database.text("select gap from inbox.shard where partition = 0") == "[0,120)");
  log.accept();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.position(cut) == 250);
  CHECK(daemon->count_in_log("kind=consumer.position_behind_group") == 0);  // it is intended
}
