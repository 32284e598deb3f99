#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a running daemon reads a partition again; known events stay applied once, forgotten events are new") {
  DaemonFixture fixture{1};
  Application application{fixture.database};
  application.create_table();
  fixture.config.handlers = {application.statement("book", insert_each)};
  auto daemon = fixture.start();
  for (int i = 0; i < 5; ++i) {
    fixture.kafka.produce({Message{.topic = fixture.topic,
                                   .payload = "{\"n\": " + std::to_string(i) + "}",
                                   .headers = {{"id", "0193d2a0-0000-7000-8000-00000000000" + std::to_string(i)}},
                                   .partition = 0}});
  }
  application.wait_for("all are booked", "select count(*) from app.applied", 5);
  fixture.database.run("delete from inbox.ledger where \"offset\" = 3");
  fixture.final_verify.skip("an event whose id was deleted is stored twice");

  const std::vector<std::string> seek{"partitions", "seek", fixture.topic, "0", "--to", "1"};
  auto dry = seek;
  dry.push_back("--dry-run");
  CHECK_THAT(command(fixture.config, dry).out,
             ContainsSubstring("from 5 to 1: 4 offsets are read again, 3 known events, at most 1 stored as new"));
  CHECK(fixture.position() == 5);
  auto sure = seek;
  sure.push_back("--yes");
  const auto done = command(fixture.config, sure);
  INFO(done.err);
  CHECK(done.status == ExitStatus{0, 0});
  application.wait_for("the forgotten one is booked again", "select count(*) from app.applied", 6,
                       milliseconds{60'000});
  fixture.database.wait_for("all is read",
                            "select next_offset from inbox.position order by epoch desc, first_offset desc limit 1", 5);
  CHECK(application.text("select string_agg(n::text, ' ' order by n) from app.applied") == "0 1 2 3 3 4");
  CHECK(fixture.database.text("select detail from inbox.audit where operation = 'partitions seek'") ==
        "{\"to\": 1, \"from\": 5}");
}

TEST_CASE("a seek below the log's start says so beforehand, and halts the partition until the gap is accepted") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  fixture.kafka.delete_records(fixture.topic, 0, 6);
  const auto run = [&](std::vector<std::string> arguments) {
    const auto finished = command(fixture.config, arguments);
    INFO(finished.out << finished.err);
    CHECK(finished.status == ExitStatus{0, 0});
    return finished.out;
  };
  CHECK_THAT(run({"partitions", "seek", fixture.topic, "0", "--to", "2", "--dry-run"}),
             ContainsSubstring("If Kafka has deleted some of them, the partition halts"));
  run({"partitions", "seek", fixture.topic, "0", "--to", "2", "--yes"});
  const milliseconds within{60'000};  // a daemon looks for new positions every 15 s
  fixture.database.wait_for("it is halted", "select count(*) from inbox.lag where halted_reason is not null", 1,
                            within);
  CHECK(fixture.database.text("select gap from inbox.shard") == "[2,6)");
  run({"partitions", "accept-gap", fixture.topic, "0", "--yes"});
  fixture.produce(1);
  CHECK(fixture.wait_done("recorder", within).is_perfect());
  fixture.database.wait_for("all is read", "select position from inbox.lag where halted_reason is null", 11);
  CHECK(fixture.recording.count() == 11);
}
