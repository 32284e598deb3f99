#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "process/support/order_fixture.hpp"

using namespace inboxd::support;

namespace {

std::string key_number(int i) { return "key" + std::to_string(i); }

std::vector<int> numbers_to(int end) {
  std::vector<int> out(static_cast<std::size_t>(end));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

TEST_CASE("events of one key are called one after the other, in log order") {
  OrderFixture fixture{4, {"concurrency: 8"}};
  fixture.set("takes", "1ms");
  const auto daemon = fixture.start();
  for (int round = 0; round < 10; ++round) {
    fixture.events.produce(200, [](int i) { return KeyedEvents::Made{key_number(i % 20)}; });
  }
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
  CHECK(fixture.events.calls_of("key3") == numbers_to(100));
}

TEST_CASE("a failing event blocks its key through its retries, and no other key") {
  OrderFixture fixture{1, {"retry: {max_attempts: 5, backoff: fixed, base: 4s, jitter: 0}"}};
  const auto daemon = fixture.start();
  fixture.events.produce(300, [](int i) {
    return KeyedEvents::Made{key_number(i % 3), i == 30 ? "Fails2" : "Happened"};
  });
  fixture.database.wait_for("other keys are done",
                            "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome", 210);
  CHECK(fixture.events.calls_of("key0").back() == 10);
  fixture.events.produce(30, [](int i) { return KeyedEvents::Made{key_number(i % 3)}; });
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
  CHECK(fixture.events.calls_of("key0").size() == 112);
  CHECK(fixture.database.number("select count(*) from inbox.delivery") == 0);
}
