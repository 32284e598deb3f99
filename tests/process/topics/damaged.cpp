#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("damaged records are read again, then the partition stalls before them; once intact, it continues") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  DaemonFixture fixture{1};
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  const auto is_stalled = [&] {
    return fixture.database.number(
               "select count(*) from inbox.lag where halted_reason like 'not readable: corrupt%'") == 1;
  };
  proxy.corrupt("rotten");
  std::string payload;
  for (int i = 0; i < 20; ++i) payload += "rotten ";
  const std::string id = "7c000000-0000-4000-8000-000000000001";
  fixture.kafka.produce({event_message(fixture.topic, id, payload)});
  fixture.note({id});
  fixture.produce(10);  // in separate, intact batches
  wait_until("it is stalled", is_stalled);
  CHECK(daemon->count_in_log("kind=consumer.corrupt_records") == 1);
  holds_for("it is tried again, and never past it", milliseconds{6'000},
            [&] { return is_stalled() && fixture.position() == 10; });
  CHECK(fixture.offsets_ahead() == 0);

  proxy.corrupt("");
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the reason is gone", [&] { return !is_stalled(); });
}
