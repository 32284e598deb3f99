// Maintenance that waits for a lock while batches are stored.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <functional>
#include <thread>

#include "inbox/migrations.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// `work` is refused for its lock while batches are stored, which takes each of them less than a second.
void gives_up_beside_ingest(Inbox& inbox, const std::function<void(inbox::Connection&)>& work) {
  const auto shard = inbox.add_shard("orders");
  std::atomic<bool> is_over = false;
  inbox::DatabaseFailure failure;
  std::jthread waiting{[&, connection = inbox.connect()] {
    failure = failure_of([&] { work(*connection); });
    is_over = true;
  }};
  const auto began = std::chrono::steady_clock::now();
  auto longest = 0ns;
  std::int64_t batches = 0;
  for (; !is_over; ++batches) {
    Batch batch{inbox};
    batch.at(shard, batches).events(1);
    const auto start = std::chrono::steady_clock::now();
    CHECK(batch.store(inbox.connection()).stored == 1);
    longest = std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - start);
  }
  waiting.join();
  WARN("longest of " << batches << " batches: " << longest / 1ms << " ms");
  CHECK(batches > 0);
  CHECK(longest < 1s);
  CHECK(failure.fault == inbox::Fault::retry);
  CHECK(failure.sqlstate == "55P03");
  CHECK(std::chrono::steady_clock::now() - began < 5s);
}

}  // namespace

// fault: partition drop waits for a lock
TEST_CASE("a drop that waits for a long reader gives up soon, and no batch takes a second") {
  Inbox inbox;
  make_old_day(inbox);
  Session reader{inbox.database().url(), inbox.database().schema()};
  reader.run("begin; select count(*) from inbox.event");
  gives_up_beside_ingest(inbox, [](auto& connection) { inbox::drop_partition(connection, "event", 24h); });
}

// fault: migration waits for a lock
TEST_CASE("a migration that waits for a long reader gives up soon, and no batch takes a second") {
  Inbox inbox;
  inbox.database().run("update inbox.repeatable_migration set digest = 'another'");  // it is due again
  Session reader{inbox.database().url(), inbox.database().schema()};
  reader.run("begin; select count(*) from inbox.events");
  gives_up_beside_ingest(inbox, [&](auto& connection) {
    static_cast<void>(inbox::migrate(connection, inbox.settings().schema, [](const inbox::Migration&) {}));
  });
  reader.run("rollback");
  CHECK(inbox::migrate(inbox.connection(), inbox.settings().schema, [](const inbox::Migration&) {}).ok());
}
