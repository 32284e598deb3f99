// The client library's log lines about topics that were created again.
#include "consumer/recreated_topics.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::consumer {

TEST_CASE("a topic with a changed id is noted, with the id under which it is read") {
  RecreatedTopics topics;
  std::size_t seen = 0;
  CHECK(topics.id_of("orders").empty());
  topics.read_line(
      "[thrd:main]: Topic orders changed id from AAAAAAAAAAAAAAAAAAAAAA to 1aaaaaaaaaaaaaaaaaaaaQ");  // first seen
  CHECK(topics.since(seen).empty());
  CHECK(topics.id_of("orders") == "1aaaaaaaaaaaaaaaaaaaaQ");
  topics.read_line("[thrd:main]: Topic orders changed id from 1aaaaaaaaaaaaaaaaaaaaQ to 2bbbbbbbbbbbbbbbbbbbbQ");
  CHECK(topics.since(seen) == std::vector<std::string>{"orders"});
  CHECK(topics.since(seen).empty());
  CHECK(topics.id_of("orders") == "2bbbbbbbbbbbbbbbbbbbbQ");
  CHECK(topics.id_of("payments").empty());
}

}  // namespace inboxd::consumer
