#include <catch2/catch_test_macros.hpp>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::string url_of(const PrivatePostgres& first, const PrivatePostgres& second) {
  const auto at = [](const PrivatePostgres& server) { return "127.0.0.1:" + std::to_string(server.port()); };
  return "postgresql://postgres@" + at(first) + "," + at(second) + "/postgres";
}

}  // namespace

TEST_CASE("after the primary crashes under load and its standby is promoted, the daemon continues on the standby") {
  PrivatePostgres primary;
  const auto standby = PrivatePostgres::standby_of(primary);
  const std::string both = url_of(*standby, primary);  // the read-only host comes first
  DaemonFixture fixture{4, both + "?target_session_attrs=read-write"};
  fixture.config.url = both;
  fixture.config.sections["database"] = "deadline: 5s";
  const auto daemon = fixture.start();
  BackgroundProducer producer{fixture, 1000};
  producer.wait_for_more(2000);
  Session copy{standby->url(), fixture.database.schema()};
  copy.wait_for("the standby follows", "select (count(*) > 500)::int from inbox.events", 1);

  const auto stored = fixture.database.number("select count(*) from inbox.events");
  primary.stop();
  producer.wait_for_more(500);  // no host accepts writes meanwhile
  CHECK(daemon->process().is_running());
  standby->promote();
  fixture.database.session().close();
  producer.wait_for_more(1000);
  producer.finish();
  const auto kept = fixture.database.number("select count(*) from inbox.events");
  const auto counts = fixture.wait_done();
  WARN("stored before the primary crashed: " << stored << ", on the standby soon after: " << kept << "; "
                                             << counts.text());
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
