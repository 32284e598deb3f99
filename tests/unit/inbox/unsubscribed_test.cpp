#include "inbox/unsubscribed.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::inbox {

TEST_CASE("events without a handler are counted by topic and type; each count is taken once") {
  Unsubscribed unsubscribed;
  unsubscribed.add("orders", "A");
  unsubscribed.add("orders", "A", 2);
  unsubscribed.add("returns", "", 4);
  const auto taken = unsubscribed.take();
  CHECK(taken == std::vector<UnsubscribedEvents>{{"orders", "A", 3}, {"returns", "", 4}});
  CHECK(unsubscribed.take().empty());
  unsubscribed.put_back(taken);
  CHECK(unsubscribed.take() == taken);
  CHECK(unsubscribed.totals() == std::map<std::string, std::uint64_t>{{"orders", 3}, {"returns", 4}});
}

TEST_CASE("the number of counted types is limited, and long type names are shortened") {
  Unsubscribed unsubscribed;
  for (int i = 0; i < 5'000; ++i) unsubscribed.add("orders", "type-" + std::to_string(i));
  const auto taken = unsubscribed.take();
  CHECK(taken.size() == Unsubscribed::max_types + 1);
  std::int64_t events = 0;
  for (const auto& one : taken) events += one.events;
  CHECK(events == 5'000);
  unsubscribed.add("orders", std::string(1'000'000, 'x'));
  CHECK(unsubscribed.take().front().event_type.size() <= Unsubscribed::max_type + 3);
}

}  // namespace inboxd::inbox
