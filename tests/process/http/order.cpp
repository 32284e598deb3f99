// The shipped handler `http` in mode `sequential`.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <set>

#include "process/http/http_fixture.hpp"
#include "process/support/keyed_events.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("requests of a key arrive in log order, through failures and kills of daemon and service") {
  const std::string per_call = GENERATE("1", "20");
  CAPTURE(per_call);
  HttpFixture fixture{{"mode: sequential", "events_per_call: " + per_call}, 4};
  fixture.set("style", "cloudevents-structured");
  KeyedEvents events{fixture};
  auto daemon = fixture.start();
  const auto produce = [&] {
    events.produce(500, [&](int i) {
      const std::string key = "key" + std::to_string(i % 30);
      const std::string number = std::to_string(events.events_of(key));
      return KeyedEvents::Made{key, i % 50 == 7 ? "Once-500" : "Happened", "{\"number\": " + number + "}"};
    });
  };
  for (int round = 0; round < 3; ++round) {
    const auto before = fixture.requests().size();
    produce();
    wait_until("some are sent", [&] { return fixture.requests().size() > before + 5; });
    if (round == 1) {
      fixture.service->kill();
      fixture.start_service();
    } else {
      daemon->kill();
      daemon = fixture.start();
    }
  }
  CHECK(fixture.wait_done().is_perfect());

  std::map<std::string, std::vector<int>> calls;  // the numbers of each key's events, in the order of arrival
  for (const auto& request : fixture.requests()) {
    auto body = nlohmann::json::parse(request["body"].get<std::string>());
    if (!body.is_array()) body = nlohmann::json::array({body});
    for (const auto& event : body) calls[event["partitionkey"]].push_back(event["data"]["number"]);
  }
  CHECK(calls.size() == 30);
  for (const auto& [key, numbers] : calls) {
    CHECK(std::set<int>(numbers.begin(), numbers.end()).size() == static_cast<std::size_t>(events.events_of(key)));
    int last = -1;
    for (const int number : numbers) {
      // The key's next event, or a repetition; the events of a batch may come again together.
      const bool is_in_order = number == last + 1 || (per_call == "1" ? number == last : number <= last);
      if (!is_in_order) FAIL_CHECK(key << ": " << number << " after " << last);
      last = number;
    }
  }
}
