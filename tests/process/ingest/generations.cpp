// The ledger's generations beside kills, restarts and another configuration.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

struct GenerationsFixture : DaemonFixture {
  GenerationsFixture() : DaemonFixture{1} { config.sections["ledger"] = "generation_ids: 100"; }

  /// A start freezes the current generation, for it has more ids than it may have.
  void restart_killed(std::unique_ptr<DaemonProcess>& daemon, std::int64_t generations) {
    if (daemon) daemon->kill();
    daemon = start();
    database.wait_for("the generation is frozen",  // another minute freezes another
                      "select (count(*) >= " + std::to_string(generations) +
                          ")::int from inbox.ledger_generation where frozen_at is not null",
                      1);
  }
  /// With the payloads of their first time: two calls of 500, and a third.
  void resend(const std::vector<std::string>& resent) {
    std::vector<Message> messages;
    for (std::size_t i = 0; i < resent.size(); ++i) {
      const auto n = i < 1000 ? i % 500 : i - 1000;
      messages.push_back(event_message(topic, resent[i], "{\"n\": " + std::to_string(n) + "}"));
    }
    kafka.produce(messages);
  }
};

}  // namespace

// fault: killed after the ledger's generation was frozen
TEST_CASE("resends of ids in frozen generations are absorbed through kills, with filters and without memory for them") {
  GenerationsFixture fixture;
  auto daemon = fixture.start();
  const auto first = fixture.produce(500);
  CHECK(fixture.wait_done().is_perfect());
  fixture.restart_killed(daemon, 1);
  daemon->wait_log("kind=maintenance.filter_made");
  fixture.produce(500);
  CHECK(fixture.wait_done().is_perfect());
  fixture.restart_killed(daemon, 2);
  // New events, so that the daemon does not expect duplicates.
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  fixture.resend(fixture.ids());
  fixture.resend(first);
  fixture.database.wait_for("the resends are read", "select position from inbox.lag", 2520);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 1010);

  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.config.sections["ledger"] = "generation_ids: 100, filter_bytes: 0B";
  daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  fixture.resend(first);
  fixture.database.wait_for("the resends are read again", "select position from inbox.lag", 3030);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 1020);
  CHECK(fixture.wait_done().calls == 1020);
  fixture.database.wait_for("the ages of all resends are counted",
                            "select coalesce(sum(resends), 0)::bigint from inbox.resend_age", 2010);
}
