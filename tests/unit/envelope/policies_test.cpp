#include "event/headers.hpp"
#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;
using config::OnMissingId;
using config::Tombstones;

// fault: no id
TEST_CASE("a record without an id follows the topic's policy and is never dropped") {
  CHECK(Outcome{record()}.rejection().starts_with("no_id: no CloudEvent (in headers or value), no header id and no"));
  for (const OnMissingId policy : {OnMissingId::position, OnMissingId::digest}) {
    const Outcome outcome{record(), rules(EnvelopeKind::automatic, policy)};
    CHECK(outcome.event().event_type == "orders");
    CHECK(outcome.event().occurred_at == 1'700'000'000'000'000);
    CHECK(outcome.event().payload == R"({"a":1})"sv);
  }
}

// fault: id with NUL
// fault: id with bad UTF-8
// fault: id too long
TEST_CASE("a bad id is quarantined, even with on_missing_id") {
  for (const OnMissingId policy : {OnMissingId::quarantine, OnMissingId::position, OnMissingId::digest}) {
    const TopicRules by = rules(EnvelopeKind::automatic, policy);
    for (const std::string_view id : {"a\0b"sv, "\0"sv, "\xFF"sv, ""sv, "a\nb"sv, "\xED\xA0\x80"sv}) {
      CHECK(Outcome{with_headers({{"id", id}}), by}.reason() == "bad_id");
      CHECK(Outcome{with_headers({{"ce_id", id}, {"ce_source", "/a"}}), by}.reason() == "bad_id");
    }
    CHECK(Outcome{with_headers({{"id", std::string(257, 'x')}}), by}.rejection() ==
          "bad_id: the id has 257 bytes; the limit is 256");
    CHECK(Outcome{with_headers({{"id", std::string(100'000, '"')}}), by}.reason() == "bad_id");
  }
}

TEST_CASE("two ids that differ after a NUL do not collapse: both are refused") {
  CHECK(Outcome{with_headers({{"id", "order\0A"sv}})}.reason() == "bad_id");
  CHECK(Outcome{with_headers({{"id", "order\0B"sv}})}.reason() == "bad_id");
}

TEST_CASE("null and empty keys and payloads are stored unchanged") {
  for (const event::MaybeBytes payload : {event::MaybeBytes{}, event::MaybeBytes{""sv}}) {
    for (const event::MaybeBytes key : {event::MaybeBytes{}, event::MaybeBytes{""sv}}) {
      event::Record record = with_headers({{"id", a_uuid}}, payload);
      record.key = key;
      const Outcome outcome{record};
      CHECK(outcome.event().payload == payload);
      CHECK(outcome.event().key == key);
    }
  }
}

TEST_CASE("`tombstones: skip` skips tombstones but not empty values") {
  TopicRules by = rules();
  by.topic.tombstones = Tombstones::skip;
  CHECK(Outcome{with_headers({{"id", a_uuid}}, std::nullopt), by}.is_skipped());
  CHECK(Outcome{record(std::nullopt), by}.is_skipped());
  CHECK(Outcome{with_headers({{"id", a_uuid}}, ""), by}.is_event());
  CHECK(Outcome{with_headers({{"id", a_uuid}}, std::nullopt)}.is_event());
}

// fault: repeated or null headers
TEST_CASE("headers keep repetition, null, NUL and bytes that are not text") {
  const Headers headers{{"id", a_uuid}, {"x", std::nullopt}, {"x", ""}, {"x", "\0\xFF"sv}, {"\xFFname\0"sv, "v"}};
  const Outcome outcome{with_headers(headers)};
  REQUIRE(outcome.event().headers);
  CHECK(event::unpack_headers(*outcome.event().headers) == headers);
}

TEST_CASE("a record without headers has null headers") {
  CHECK_FALSE(Outcome{record(), rules(EnvelopeKind::automatic, OnMissingId::position)}.event().headers);
}

// fault: payload over the limit
TEST_CASE("a payload over the limit is refused with its size and digest") {
  TopicRules by = rules();
  by.topic.payload_limit = 1000;
  const std::string fits(1000, 'x');
  const std::string large(1001, 'x');
  CHECK(Outcome{with_headers({{"id", a_uuid}}, fits), by}.is_event());
  const std::string rejection = Outcome{with_headers({{"id", a_uuid}}, large), by}.rejection();
  const std::string_view before = "too_large: the payload has 1001 bytes, the topic's payload_limit is 1000; digest ";
  CHECK(rejection.starts_with(before));
  CHECK(rejection.size() == before.size() + 16);
}

TEST_CASE("a key over the limit is refused") {
  TopicRules by = rules();
  by.topic.payload_limit = 10;
  event::Record record = with_headers({{"id", a_uuid}}, "x");
  record.key = "eleven byte";
  CHECK(Outcome{record, by}.rejection().starts_with("too_large: the key has 11 bytes"));
}

TEST_CASE("headers over the limit are refused, all of them together") {
  TopicRules by = rules();
  by.topic.payload_limit = 1000;
  const std::string bytes(500, 'x');  // headers only point to their values
  const auto with = [&](std::size_t size) {
    return with_headers({{"id", a_uuid}, {"a", std::string_view{bytes}.substr(0, size)}, {"b", bytes}});
  };
  // Each header takes eight bytes plus its name and value.
  CHECK(Outcome{with(436), by}.is_event());
  CHECK(Outcome{with(437), by}.rejection().starts_with("too_large: the headers have 1001 bytes"));
}

TEST_CASE("an impossible timestamp of the record is left out and the event kept") {
  for (const std::int64_t absurd : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    event::Record record = with_headers({{"id", a_uuid}});
    record.timestamp = absurd;
    CHECK_FALSE(Outcome{record}.event().kafka_timestamp);
    CHECK_FALSE(Outcome{record}.event().occurred_at);
  }
  event::Record record = with_headers({{"id", a_uuid}});
  record.timestamp = std::numeric_limits<std::int64_t>::max();
  CHECK(Outcome{record}.event().kafka_timestamp == std::numeric_limits<std::int64_t>::max());
  record.timestamp = std::nullopt;
  CHECK_FALSE(Outcome{record}.event().kafka_timestamp);
}

TEST_CASE("Avro, plain text or broken JSON is an event if its headers give an id") {
  for (const std::string_view payload : {"\0\0\0\0\7\x02\x06"sv, "plain"sv, "\xFF\xFE"sv, "{\"specversion\""sv}) {
    const Outcome outcome{with_headers({{"id", a_uuid}}, payload)};
    CHECK(outcome.id() == a_uuid);
    CHECK(outcome.event().payload == payload);
  }
}

TEST_CASE("a poison record does not touch its neighbours") {
  base::Arena arena;
  int events = 0;
  int refused = 0;
  std::vector<std::string> ids;
  for (int i = 0; i < 500; ++i) ids.push_back(i == 250 ? std::string{"a\0b", 3} : "id-" + std::to_string(i));
  for (const std::string& id : ids) {
    const Decoded decoded = decode(with_headers({{"id", id}}), rules(), arena);
    std::holds_alternative<event::Event>(decoded) ? ++events : ++refused;
  }
  CHECK(events == 499);
  CHECK(refused == 1);
}

TEST_CASE("`tombstones: auto` skips tombstones of change events, and no others") {
  CHECK(Outcome{record(std::nullopt), rules(EnvelopeKind::debezium)}.is_skipped());
  CHECK(Outcome{record(std::nullopt)}.rejection() ==
        "no_id: a null value without an id in its headers; set topics[].tombstones: skip");
  TopicRules store = rules(EnvelopeKind::debezium, OnMissingId::position);
  store.topic.tombstones = Tombstones::store;
  CHECK(Outcome{record(std::nullopt), store}.is_event());
}

TEST_CASE("without a type in the envelope the class that Spring names is the type") {
  const TopicRules by_position = rules(EnvelopeKind::automatic, OnMissingId::position);
  CHECK(Outcome{with_headers({{"__TypeId__", "com.shop.Order"}}), by_position}.event().event_type == "com.shop.Order");
  CHECK(Outcome{with_headers({{"id", a_uuid}, {"__TypeId__", R"("com.shop.Order")"}})}.event().event_type ==
        "com.shop.Order");
  CHECK(Outcome{with_headers({{"id", a_uuid}, {"type", "A"}, {"__TypeId__", "B"}})}.event().event_type == "A");
  CHECK(Outcome{with_headers({{"id", a_uuid}, {"__TypeId__", "\xFF"}})}.reason() == "undecodable");
  config::CustomRules custom;
  custom.id = "header:id";
  const auto record = with_headers({{"id", a_uuid}, {"__TypeId__", "com.shop.Order"}});
  CHECK(Outcome{record, custom_rules(custom)}.event().event_type == "orders");
}
