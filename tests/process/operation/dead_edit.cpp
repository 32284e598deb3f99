#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("an operator mends the payload of a dead letter from a file, and its handler books it") {
  DaemonFixture fixture{1};
  Application application{fixture.database};
  application.create_table();
  fixture.config.handlers = {application.statement("book", insert_each, {"retry: {max_attempts: 1}"})};
  auto daemon = fixture.start();
  fixture.kafka.produce({Message{.topic = fixture.topic,
                                 .payload = R"({"n": "seven"})",
                                 .headers = {{"id", "0193d2a0-0000-7000-8000-00000000000d"}},
                                 .partition = 0}});
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letter", 1);
  const TempFolder folder;
  const std::string file = folder.path() / "mended.json";
  std::ofstream{file} << R"({"n": 7})";

  const std::string id = fixture.topic + "/0/0";
  CHECK_THAT(command(fixture.config, {"dead", "edit", id, "--payload", file + "s", "--yes"}).err,
             ContainsSubstring(file + "s cannot be read"));
  const auto edited = command(fixture.config, {"dead", "edit", id, "--payload", file, "--yes"});
  INFO(edited.err);
  CHECK(edited.status == ExitStatus{0, 0});
  CHECK_THAT(edited.out, ContainsSubstring("14 B -> 8 B: 1 replayed"));
  application.wait_for("it is booked", "select count(*) from app.applied where n = 7", 1);
  const auto shown = command(fixture.config, {"events", "show", id});
  CHECK_THAT(shown.out, ContainsSubstring(R"({"n": "seven"})"));
  CHECK_THAT(shown.out, ContainsSubstring("edited for book by "));
  CHECK_THAT(shown.out, ContainsSubstring(R"({"n": 7})"));
}
