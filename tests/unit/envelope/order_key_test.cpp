// The key by which events are kept in order.
#include "envelope/order_key.hpp"

#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "event/headers.hpp"

namespace inboxd::envelope {
namespace {

using namespace std::string_view_literals;

OrderKeyRule by(std::string place, config::MissingKey missing = config::MissingKey::unordered) {
  config::Handler handler;
  handler.mode = config::Mode::sequential;
  handler.order_by = std::move(place);
  handler.missing_key = missing;
  return OrderKeyRule{handler};
}

/// The key as a text; nullopt: none.
std::optional<std::string> key_of(const OrderKeyRule& rule, const event::Event& event,
                                  config::Unwrap unwrap = config::Unwrap::automatic) {
  base::Arena arena{64};
  const auto key = rule.find(event, arena, unwrap);
  if (!key) return std::nullopt;
  return std::string{*key};
}

KeyHash hash_of(const OrderKeyRule& rule, const event::Event& event) {
  base::Arena arena{64};
  return rule.hash(event, arena, config::Unwrap::automatic);
}

event::Event with_key(event::MaybeBytes key) {
  event::Event out;
  out.key = key;
  return out;
}

event::Event with_payload(event::MaybeBytes payload) {
  event::Event out;
  out.payload = payload;
  return out;
}

std::optional<std::string> in_payload(std::string_view pointer, event::MaybeBytes payload) {
  return key_of(by("json:" + std::string{pointer}), with_payload(payload));
}

const std::optional<std::string> none;

std::string nested(std::size_t depth, std::string_view inside) {
  return std::string(depth, '[').append(inside).append(depth, ']');
}

}  // namespace

TEST_CASE("the order key is the record's key by default, of any bytes") {
  CHECK(OrderKeyRule{} == by("key"));
  CHECK_FALSE(by("key").needs_content());
  CHECK(key_of(by("key"), with_key("k-1")) == "k-1");
  CHECK(key_of(by("key"), with_key("\0\xff"sv)) == std::string{"\0\xff", 2});
  CHECK(key_of(by("key"), with_key(std::nullopt)) == none);
}

TEST_CASE("the order key may be the subject") {
  event::Event event = with_key("k-1");
  CHECK(key_of(by("subject"), event) == none);
  event.subject = "order-7";
  CHECK(key_of(by("subject"), event) == "order-7");
  CHECK_FALSE(by("subject").needs_content());
}

TEST_CASE("the order key may be a header: the last header of that name, null if that is null") {
  const OrderKeyRule rule = by("header:customer");
  CHECK(rule.needs_content());
  event::Event event;
  CHECK(key_of(rule, event) == none);
  const auto with = [&](std::initializer_list<event::Header> headers) {
    const std::string packed = event::pack_headers(headers);
    event.headers = packed;
    return key_of(rule, event);
  };
  CHECK(with({{"other", "x"}}) == none);
  CHECK(with({{"customer", "7"}}) == "7");
  CHECK(with({{"customer", "7"}, {"other", "x"}, {"customer", "8"}}) == "8");
  CHECK(with({{"customer", ""}}) == "");
  CHECK(with({{"customer", "7"}, {"customer", std::nullopt}}) == none);
  CHECK(with({{"Customer", "7"}}) == none);
}

TEST_CASE("the order key may be in the payload: a text or a number") {
  CHECK(by("json:/a").needs_content());
  CHECK(in_payload("/customer/id", R"({"customer":{"id":"c-7"}})") == "c-7");
  CHECK(in_payload("/customer/id", R"({"customer":{"id":7}})") == "7");
  CHECK(in_payload("/customer/id", R"({"customer":{"id":12345678901234567890}})") == "12345678901234567890");
  CHECK(in_payload("/a", R"({"a":"\u00e4\n"})") == "\xc3\xa4\n");
  CHECK(in_payload("/a", R"({"a":""})") == "");
  CHECK(in_payload("/list/1", R"({"list":["x","y"]})") == "y");
}

TEST_CASE("the order key is sought in the value as the topic unwraps it") {
  const auto rule = by("json:/a");
  const event::Event in_string = with_payload(R"("{\"a\":\"x\"}")");
  const event::Event with_schema = with_payload(R"({"schema":{"type":"struct"},"payload":{"a":"x"},"a":"y"})");
  CHECK(key_of(rule, in_string) == "x");
  CHECK(key_of(rule, in_string, config::Unwrap::none) == none);
  CHECK(key_of(rule, with_schema) == "y");
  CHECK(key_of(rule, with_schema, config::Unwrap::schema_payload) == "x");
}

TEST_CASE("an event without the value, with another value, or that is not JSON has no order key") {
  for (const auto payload : {R"({"b":1})"sv, R"({"a":null})"sv, R"({"a":true})"sv, R"({"a":{"b":1}})"sv,
                             R"({"a":[1]})"sv, "not JSON"sv, ""sv, "[1,2]"sv, "\xff\xfe"sv, "\0"sv}) {
    CAPTURE(payload);
    CHECK(in_payload("/a", payload) == none);
  }
  CHECK(in_payload("/a", std::nullopt) == none);
}

TEST_CASE("a hostile payload costs no stack, and gives a key or none") {
  CHECK(in_payload("/a", nested(200'000, "1")) == none);
  const std::string deep = R"({"b":)" + nested(200'000, "1") + R"(,"a":"x"})";
  const auto found = in_payload("/a", deep);
  CHECK((found == none || found == "x"));
  CHECK(in_payload("/a", std::string(1'000'000, '[')) == none);
  CHECK(in_payload("/a", R"({"a":"x)") == none);
}

TEST_CASE("events without an order key run in no order, or share one key") {
  const event::Event without = with_key(std::nullopt);
  CHECK(hash_of(by("key"), without) == no_order_key);
  const OrderKeyRule shared = by("key", config::MissingKey::shared);
  CHECK(hash_of(shared, without) != no_order_key);
  CHECK(hash_of(shared, without) == hash_of(by("subject", config::MissingKey::shared), without));
  CHECK(key_of(shared, without) == none);
}

TEST_CASE("an empty key is a key, and differs from none") {
  const OrderKeyRule shared = by("key", config::MissingKey::shared);
  CHECK(hash_of(by("key"), with_key("")) != no_order_key);
  CHECK(hash_of(shared, with_key("")) != hash_of(shared, with_key(std::nullopt)));
}

TEST_CASE("a key has a single hash wherever it is found, the same in each version") {
  event::Event event = with_key("k-1");
  event.subject = "k-1";
  event.payload = R"({"a":"k-1"})";
  CHECK(hash_of(by("key"), event) == hash_of(by("subject"), event));
  CHECK(hash_of(by("key"), event) == hash_of(by("json:/a"), event));
  CHECK(hash_of(by("key"), event) == -2'677'963'319'820'757'996);  // lanes in databases keep it
}

TEST_CASE("ten thousand keys have as many hashes") {
  std::set<KeyHash> hashes;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = std::to_string(i);
    hashes.insert(hash_of(by("key"), with_key(key)));
  }
  CHECK(hashes.size() == 10'000);
}

TEST_CASE("missing_key: partition keeps the events of each partition that have no key in order") {
  const OrderKeyRule rule = by("key", config::MissingKey::partition);
  event::Event one = with_key(std::nullopt), other = with_key(std::nullopt);
  one.shard_id = other.shard_id = 1;
  CHECK(hash_of(rule, one) != no_order_key);
  CHECK(hash_of(rule, one) == hash_of(rule, other));
  other.shard_id = 2;
  CHECK(hash_of(rule, one) != hash_of(rule, other));
  CHECK(hash_of(rule, with_key("a")) == hash_of(by("key", config::MissingKey::unordered), with_key("a")));
}

}  // namespace inboxd::envelope
