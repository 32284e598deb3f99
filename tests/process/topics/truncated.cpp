// Logs that brokers have cut off: an unclean election, a volume set back. No real broker does that on command.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/stage.hpp"
#include "support/mock_brokers.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int cut = 0, whole = 1;

/// A stage whose brokers are the library's own, with two partitions.
struct CutOff {
  CutOff() {
    brokers.serve(stage.config);
    brokers.create_topic(stage.topic, 2);
  }
  void produce(int partition, int count) {
    std::vector<Message> messages;
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back("5a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number++));
      messages.push_back(event_message(stage.topic, ids.back()));
      messages.back().partition = partition;
    }
    kafka.produce(messages);
    stage.note(ids);
  }
  /// 100 records are read; then the log of `cut` loses its last 20 of 120, and 150 others take their place and more.
  void cut_off() {
    auto daemon = stage.start();
    produce(cut, 100);
    produce(whole, 10);
    stage.wait_done();
    daemon->stop();
    stage.database.run(
        "update inbox.position p set next_offset = 120 from inbox.shard s "
        "where s.shard_id = p.shard_id and s.partition = 0 and p.next_offset = 100");
    brokers.elect(stage.topic, cut);
    produce(cut, 150);
  }
  std::int64_t halted_with(const std::string& reason) {
    return stage.database.number("select count(*) from inbox.lag where partition = 0 and halted_reason like $1",
                                 {reason});
  }
  void accept() {
    const auto accepted = command(stage.config, {"shards", "accept-gap", stage.topic, std::to_string(cut), "--yes"});
    INFO(accepted.out << accepted.err);
    CHECK(accepted.status == ExitStatus{0, 0});
  }

  MockBrokers brokers;
  Kafka kafka{brokers.addresses()};
  Stage stage{1};
  int number = 0;
};

}  // namespace

TEST_CASE(
    "a log that was cut off and has grown past the position again is halted, and read from the cut on once "
    "that is accepted") {
  CutOff scene;
  Stage& stage = scene.stage;
  scene.cut_off();
  const auto daemon = stage.start();
  wait_until("it is halted", [&] { return scene.halted_with("the log was cut off at 100%") == 1; });
  CHECK(stage.database.text("select gap from inbox.shard where partition = 0") == "[100,120)");
  scene.produce(whole, 20);
  stage.database.wait_for("the other partition goes on", "select position from inbox.lag where partition = 1", 30);
  holds_for("nobody loses partitions over it", milliseconds{6'000},
            [&] { return daemon->count_in_log("consumer: partitions revoked") == 0; });
  CHECK_THAT(command(stage.config, {"status"}).out, ContainsSubstring("cut off"));
  CHECK(stage.position(cut) == 120);

  scene.accept();
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(stage.position(cut) == 250);
  CHECK(stage.database.number("select count(distinct shard_id) from inbox.event") == 3);
}

TEST_CASE(
    "where nobody knows at which offset a log was cut off it is read from its beginning, and what is stored is "
    "not stored again") {
  CutOff scene;
  Stage& stage = scene.stage;
  scene.cut_off();
  // An epoch that these brokers have never had.
  stage.database.run(
      "update inbox.position p set leader_epoch = 1000 from inbox.shard s "
      "where s.shard_id = p.shard_id and s.partition = 0");
  const auto daemon = stage.start();
  wait_until("it is halted", [&] { return scene.halted_with("%nobody knows where%") == 1; });
  CHECK(stage.database.text("select gap from inbox.shard where partition = 0") == "[0,120)");
  scene.accept();
  CHECK(stage.wait_done().is_perfect());
  CHECK(stage.position(cut) == 250);
  CHECK(daemon->count_in_log("behind the group's offset") == 0);  // it is meant to be
}
