#include "event/event.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace inboxd;

TEST_CASE("a copy of an event has all its bytes in the arena, and null fields stay null") {
  const std::string bytes = "0123456";
  const std::string_view all = bytes;
  event::Event event;
  event.source_id = all.substr(0, 1);
  event.event_type = all.substr(1, 1);
  event.source = all.substr(2, 1);
  event.subject = all.substr(3, 1);
  event.key = all.substr(4, 1);
  event.payload = all.substr(5, 1);
  event.headers = all.substr(6, 1);
  base::Arena arena;
  const event::Event copy = event::copy(event, arena);
  CHECK(arena.used() == event::size_of(event) - sizeof(event::Event));
  for (const auto& view :
       {*copy.source_id, copy.event_type, *copy.source, *copy.subject, *copy.key, *copy.payload, *copy.headers}) {
    CHECK(bytes.find(view) != std::string::npos);
    CHECK((view.data() < bytes.data() || view.data() >= bytes.data() + bytes.size()));
  }
  CHECK_FALSE(event::copy({}, arena).payload.has_value());
}
