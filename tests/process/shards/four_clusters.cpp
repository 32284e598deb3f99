// Four databases on clusters of their own: growth, a kill, and a database that is away.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "process/shards/shards_fixture.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd::support;

namespace {

constexpr std::size_t away = 2;

struct Clusters {
  std::array<PrivatePostgres, 4> servers;
  std::vector<std::string> urls() const {
    std::vector<std::string> out;
    for (const auto& server : servers) out.push_back(server.url());
    return out;
  }
};

/// Waits until each database but the one that is away has stored that many events more.
void wait_others_store(ShardsFixture& fixture, std::int64_t more) {
  for (std::size_t i = 0; i < fixture.shards.size(); ++i) {
    if (i == away) continue;
    auto& shard = *fixture.shards[i];
    const std::int64_t before = shard.stored();
    wait_until("database " + std::to_string(i) + " stores", [&] { return shard.stored() >= before + more; });
  }
}

}  // namespace

// fault: one of several databases is away
// fault: SIGKILL of the instance that reads for its database
// fault: partition count raised, several databases
TEST_CASE("of four databases one is away, a reader is killed, and partitions double: nothing is lost or there twice") {
  Clusters clusters;
  ShardsFixture fixture{8, clusters.urls()};
  std::vector<std::unique_ptr<DaemonProcess>> daemons;
  for (auto& shard : fixture.shards) daemons.push_back(shard->start());
  daemons[0]->wait_log("kind=consumer.ingest_right_taken");
  const auto standby = fixture.shards[0]->start();
  KeyedLoad load{fixture};
  wait_others_store(fixture, 100);

  clusters.servers[away].stop();
  wait_others_store(fixture, 100);
  daemons[0]->kill();
  fixture.kafka.add_partitions(fixture.topic, 16);
  load.notice_partitions();
  standby->wait_log("kind=consumer.ingest_right_taken");
  wait_others_store(fixture, 100);
  clusters.servers[away].start();
  for (auto& shard : fixture.shards) {
    wait_until("added partitions are read", [&] {
      return shard->database.session().is_up() &&
             shard->database.number("select count(distinct partition) from inbox.events where partition >= 8") == 2;
    });
  }
  load.stop();
  fixture.wait_done(load.produced());
  CHECK(fixture.misplaced() == "");

  load.resend();
  wait_until("all resends are read", [&] { return fixture.read() == 2 * load.produced(); });
  CHECK(fixture.stored() == load.produced());
  CHECK(fixture.misplaced() == "");
}
