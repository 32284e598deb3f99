#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a running daemon reads a partition again; known events stay applied once, forgotten ones are new") {
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
