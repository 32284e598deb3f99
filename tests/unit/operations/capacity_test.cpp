#include "operations/capacity.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

using namespace inboxd::operations;

TEST_CASE("a small load fits an instance and a database") {
  Load load;
  load.average = 20;
  const Capacity capacity = capacity_of(load);
  CHECK(capacity.instances == 1);
  CHECK(capacity.databases == 1);
  CHECK(capacity.advice.empty());
  CHECK(capacity.daemon_cores < 0.01);
  CHECK(capacity.database_cores < 0.05);
}

TEST_CASE("cores and WAL grow with the rate, disk also with the retention") {
  Load load;
  const Capacity before = capacity_of(load);
  load.rate *= 10;
  load.average *= 10;
  const Capacity fast = capacity_of(load);
  CHECK(fast.daemon_cores > 9.9 * before.daemon_cores);
  CHECK(fast.wal_bytes_per_second > 9.9 * before.wal_bytes_per_second);
  CHECK(fast.disk_bytes > 9.9 * before.disk_bytes);
  load.keep_days /= 2;
  CHECK(capacity_of(load).disk_bytes < fast.disk_bytes);
  CHECK(capacity_of(load).disk_bytes_per_day == fast.disk_bytes_per_day);
}

TEST_CASE("each handler that writes rows costs the database more than one that calls a service") {
  Load load;
  load.handlers = 5;
  const Capacity rows = capacity_of(load);
  load.writes_rows = false;
  const Capacity calls = capacity_of(load);
  CHECK(rows.database_cores > calls.database_cores);
  CHECK(rows.daemon_cores == calls.daemon_cores);
}

TEST_CASE("handlers whose events do not fit into memory cost several times as much") {
  Load load;
  load.writes_rows = false;
  load.payload = 1'000;
  const auto cost_of = [&](int handlers) {
    load.handlers = handlers;
    return capacity_of(load).database_cores;
  };
  CHECK(cost_of(20) < 1.3 * cost_of(1));
  CHECK(cost_of(200) > 5 * cost_of(1));
}

TEST_CASE("a load beyond a server is told to use more instances and databases") {
  Load load;
  load.rate = load.average = 2'000'000;
  const Capacity capacity = capacity_of(load);
  CHECK(capacity.instances > 1);
  CHECK(capacity.databases > 1);
  CHECK(capacity.advice.size() >= 3);
  CHECK(capacity.instances >= capacity.databases);
  load.rate = load.average = 200'000;
  CHECK(capacity_of(load).instances < capacity.instances);
}

TEST_CASE("filters of more ids than usual fit are advised, and each database has a share of them") {
  Load load;
  load.average = 20;
  CHECK(std::llround(capacity_of(load).filters) == std::llround(20.0 * 86'400 * 30 * 1.15 * 2.4));
  load.rate = load.average = 2'000'000;
  load.keep_ids_days = 1;
  const Capacity capacity = capacity_of(load);
  CHECK(std::llround(capacity.filters * capacity.databases) == std::llround(2e6 * 86'400 * 1.15 * 2.4));
  CHECK(std::ranges::any_of(capacity.advice, [](const auto& text) { return text.starts_with("set ledger.filter"); }));
}

TEST_CASE("large payloads and forgotten ids are advised against") {
  Load load;
  load.rate = load.average = 1;
  load.payload = 1'000'000;
  load.keep_ids_days = 1;
  CHECK(capacity_of(load).advice.size() == 3);
}

TEST_CASE("large payloads cost the database less CPU with lz4, which is advised") {
  Load load;
  load.average = 20;
  load.payload = 10'000;
  const Capacity usual = capacity_of(load);
  REQUIRE(usual.advice.size() == 1);
  CHECK(usual.advice.front().find("lz4") != std::string::npos);
  load.has_lz4 = true;
  CHECK(capacity_of(load).advice.empty());
  CHECK(capacity_of(load).database_cores < usual.database_cores / 3);
}
