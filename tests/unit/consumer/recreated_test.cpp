// What the client library says of topics that were created again.
#include "consumer/recreated.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::consumer {

TEST_CASE("a topic that changed its id is noted, and under which one it is read") {
  RecreatedTopics topics;
  std::size_t seen = 0;
  CHECK(topics.id_of("orders").empty());
  topics.read(
      "[thrd:main]: Topic orders changed id from AAAAAAAAAAAAAAAAAAAAAA to 1aaaaaaaaaaaaaaaaaaaaQ");  // met first
  CHECK(topics.since(seen).empty());
  CHECK(topics.id_of("orders") == "1aaaaaaaaaaaaaaaaaaaaQ");
  topics.read("[thrd:main]: Topic orders changed id from 1aaaaaaaaaaaaaaaaaaaaQ to 2bbbbbbbbbbbbbbbbbbbbQ");
  CHECK(topics.since(seen) == std::vector<std::string>{"orders"});
  CHECK(topics.since(seen).empty());
  CHECK(topics.id_of("orders") == "2bbbbbbbbbbbbbbbbbbbbQ");
  CHECK(topics.id_of("payments").empty());
}

}  // namespace inboxd::consumer
