// The meanings of an ID.
#include "operations/find_event.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "envelope/decode.hpp"

using namespace inboxd;
using namespace inboxd::operations;

namespace {

bool contains(const std::vector<base::Uuid>& ids, const base::Uuid& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The event id that the daemon gives to a record with these headers.
base::Uuid stored_id(const std::vector<event::Header>& headers) {
  event::Record record;
  record.topic = "orders";
  record.key = "k";
  record.payload = "{}";
  record.headers = headers;
  envelope::TopicRules rules;
  rules.name_space = "prod";
  base::Arena arena;
  return std::get<event::Event>(envelope::decode(record, rules, arena)).event_id;
}

}  // namespace

TEST_CASE("TOPIC/PARTITION/OFFSET is a place, anything else is not") {
  CHECK(parse_place("orders/3/81723") == KafkaPlace{"orders", 3, 81723});
  CHECK(parse_place("a.b_c-d/0/0") == KafkaPlace{"a.b_c-d", 0, 0});
  for (const char* text : {"", "/", "//", "orders", "orders/3", "orders/3/", "orders//7", "/3/7", "orders/x/7",
                           "orders/3/-7", "orders/3/7x", "orders/99999999999/7"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_place(text));
  }
}

TEST_CASE("a CloudEvent is found by its id alone if its source is known") {
  const auto id = stored_id({{"ce_specversion", "1.0"}, {"ce_id", "4711"}, {"ce_source", "/shop"}, {"ce_type", "T"}});
  CHECK(contains(ids_made_of("4711", "prod", {"/other", "/shop"}, {}), id));
  CHECK_FALSE(contains(ids_made_of("4711", "prod", {"/other"}, {"orders"}), id));
}

TEST_CASE("an id that is a UUID is found by itself") {
  const std::string text = "0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f";
  CHECK(contains(ids_made_of(text, "prod", {}, {}), *base::parse_uuid(text)));
}

TEST_CASE("a text that cannot be an id leads to no event id") {
  CHECK(ids_made_of("", "prod", {"/shop"}, {"orders"}).empty());
  CHECK(ids_made_of(std::string(300, 'x'), "prod", {"/shop"}, {"orders"}).empty());
}
