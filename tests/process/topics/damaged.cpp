// Records that arrive damaged: what the network, or a disk, has changed.
#include <catch2/catch_test_macros.hpp>

#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE(
    "records that arrive damaged are read again, then the partition stands still before them; whole, it goes on") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  Stage stage{1};
  stage.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  const auto daemon = stage.start();
  stage.produce(10);
  CHECK(stage.wait_done().is_perfect());
  const auto stands = [&] {
    return stage.database.number("select count(*) from inbox.lag where halted_reason like 'not readable: corrupt%'") ==
           1;
  };
  proxy.spoil("rotten");
  std::string payload;
  for (int i = 0; i < 20; ++i) payload += "rotten ";
  const std::string id = "7c000000-0000-4000-8000-000000000001";
  stage.kafka.produce({event_message(stage.topic, id, payload)});
  stage.note({id});
  stage.produce(10);  // batches of their own, and whole
  wait_until("it stands still", stands);
  CHECK(daemon->count_in_log("corrupt records; reading again") == 1);
  holds_for("it is tried again, and never past it", milliseconds{6'000},
            [&] { return stands() && stage.position() == 10; });
  CHECK(stage.offsets_ahead() == 0);

  proxy.spoil("");
  CHECK(stage.wait_done().is_perfect());
  wait_until("the reason is gone", [&] { return !stands(); });
}
