// Two hosts in database.url, of which one takes writes.
#include <catch2/catch_test_macros.hpp>

#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::string url_of(const PrivatePostgres& first, const PrivatePostgres& second) {
  const auto at = [](const PrivatePostgres& server) { return "127.0.0.1:" + std::to_string(server.port()); };
  return "postgresql://postgres@" + at(first) + "," + at(second) + "/postgres";
}

}  // namespace

TEST_CASE(
    "the primary dies under load and its standby is promoted: the daemon goes where writes are taken, by itself") {
  PrivatePostgres primary;
  const auto standby = PrivatePostgres::standby_of(primary);
  const std::string both = url_of(*standby, primary);  // the one that takes no writes comes first
  Stage stage{4, both + "?target_session_attrs=read-write"};
  stage.config.url = both;
  stage.config.sections["database"] = "deadline: 5s";
  const auto daemon = stage.start();
  Load load{stage, 1000};
  load.wait_for_more(2000);
  Session copy{standby->url(), stage.database.schema()};
  copy.wait_for("the standby follows", "select (count(*) > 500)::int from inbox.events", 1);

  const auto stored = stage.database.number("select count(*) from inbox.events");
  primary.stop();
  load.wait_for_more(500);  // nobody takes writes meanwhile
  CHECK(daemon->process().is_running());
  standby->promote();
  stage.database.session().close();
  load.wait_for_more(1000);
  load.finish();
  const auto kept = stage.database.number("select count(*) from inbox.events");
  const auto tally = stage.wait_done();
  WARN("stored before the primary died: " << stored << ", on the standby soon after: " << kept << "; " << tally.text());
  CHECK(tally.is_perfect());
  CHECK(stage.offsets_ahead() == 0);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
