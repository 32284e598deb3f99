// Hostile records against `decode`: valid records of every envelope, mutated at random. decode must neither crash nor
// throw, and every decoded event must be storable.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "envelope/decode.hpp"
#include "fuzz/storable_event.hpp"

using namespace inboxd;
using namespace std::string_view_literals;
using config::EnvelopeKind;
using config::OnMissingId;

namespace {

/// A record that owns its bytes, so that the address sanitizer sees reads past their end.
struct OwnedRecord {
  struct OwnedHeader {
    std::string name;
    std::optional<std::string> value;
  };
  std::optional<std::string> key;
  std::optional<std::string> payload;
  std::vector<OwnedHeader> headers;
  std::optional<std::int64_t> timestamp;

  event::Record view() const {
    const auto maybe = [](const std::optional<std::string>& text) {
      return text ? event::MaybeBytes{*text} : std::nullopt;
    };
    event::Record out;
    out.topic = "orders";
    out.partition = 1;
    out.offset = 7;
    out.key = maybe(key);
    out.payload = maybe(payload);
    for (const OwnedHeader& header : headers) out.headers.push_back({header.name, maybe(header.value)});
    out.timestamp = timestamp;
    return out;
  }
};

class Mutator final {
 public:
  explicit Mutator(std::uint32_t seed) : random_{seed} {}

  std::size_t below(std::size_t limit) { return random_() % limit; }

  template <class List>
  auto& any_of(List& list) {
    return list[below(list.size())];
  }

  OwnedRecord record() {
    OwnedRecord out = any_of(seeds_);
    for (std::size_t count = below(6); count > 0; --count) mutate(out);
    return out;
  }

 private:
  void mutate(OwnedRecord& record) {
    switch (below(9)) {
      case 0: mutate(record.key); break;
      case 1:
      case 2:
      case 3: mutate(record.payload); break;
      case 4: record.timestamp = static_cast<std::int64_t>(random_() * random_()); break;
      case 5:
        record.headers.push_back({std::string{any_of(names_)}, std::string{any_of(pieces_)}});
        break;
      case 6:
        if (!record.headers.empty()) std::swap(any_of(record.headers), record.headers.back());
        if (!record.headers.empty()) record.headers.pop_back();
        break;
      default:
        if (!record.headers.empty()) mutate(any_of(record.headers).value);
    }
  }

  void mutate(std::optional<std::string>& text) {
    if (!text || below(30) == 0) {
      if (text) text.reset();
      else text.emplace();
      return;
    }
    const std::size_t at = below(text->size() + 1);
    const std::size_t length = below(text->size() - at + 1);
    switch (below(7)) {
      case 0: text->insert(at, any_of(pieces_)); break;
      case 1: text->replace(at, length, any_of(pieces_)); break;
      case 2: text->erase(at, below(3) == 0 ? length : 1); break;
      case 3: text->insert(at, text->substr(at, length)); break;
      case 4:
        if (at < text->size()) (*text)[at] = static_cast<char>(random_());
        break;
      case 5: text->insert(at, below(4000), "[{\"x\\"[below(5)]); break;
      default:
        if (at < text->size()) (*text)[at] = static_cast<char>((*text)[at] ^ (1 << below(8)));
    }
  }

  std::mt19937_64 random_;
  const std::vector<OwnedRecord> seeds_{
      {"k-1", R"({"a":1})", {{"ce_specversion", "1.0"}, {"ce_id", "A234"}, {"ce_source", "/a"}, {"ce_type", "t"},
                             {"ce_time", "2024-05-01T12:00:00.25Z"}, {"ce_subject", "s"}}, 1'700'000'000'000'000},
      {"k-1", R"({"specversion":"1.0","id":"A\u0032\n34","source":"/a","type":"t","time":"2024-05-01T12:00:00Z",)"
              R"("subject":"s","data":{"x":[1,2.5e10,{"id":"no"}],"y":"\ud83d\ude00"}})",
       {{"content-type", "application/cloudevents+json"}}, 0},
      {std::nullopt, R"({"specversion":"1.0","id":"1","source":"/a","type":"t"})", {}, std::nullopt},
      {R"("k")", R"("{\"a\":1}")", {{"id", "550e8400-e29b-41d4-a716-446655440000"}, {"eventType", "T"}}, -1},
      {R"({"schema":{"type":"string"},"payload":"k"})", R"({"schema":{},"payload":{"a":1}})",
       {{"id", R"({"schema":{"type":"string"},"payload":"550e8400-e29b-41d4-a716-446655440000"})"}}, 5},
      {"k", R"({"order":{"id":"o-1","lines":[{"id":1},{"id":"2"}]},"kind":"T","at":1714564800250})", {}, 5},
      {"k", std::nullopt, {{"id", R"("550e8400-e29b-41d4-a716-446655440000")"}}, 5},
      {R"({"id":1004})", R"({"before":null,"after":{"id":1004},"source":{"connector":"postgresql","name":"s",)"
                         R"("ts_ms":1,"schema":"a","table":"b","txId":5,"lsn":7},"op":"c","ts_ms":1,)"
                         R"("transaction":null})", {}, 5},
      {"k", R"({"schema":{"type":"struct"},"payload":{"source":{"connector":"mysql","file":"f","pos":1,"row":0,)"
            R"("db":"d","table":"t"},"op":"u","ts_ms":1}})", {}, 5},
      {"k", R"({"payload":"{}","headers":{"ID":"1","event-type":"t","DATE":"Wed, 1 May 2024 12:00:00 GMT"}})", {}, 5},
      {"k", "{}", {{"axon-message-id", "1"}, {"axon-message-timestamp", std::string(8, '\1')}}, 5},
      {"k", "{}", {{"NServiceBus.MessageId", "1"}, {"NServiceBus.EnclosedMessageTypes", "A, B"},
                   {"NServiceBus.TimeSent", "2024-05-01 12:00:00:250000 Z"}}, 5},
      {"k", "{}", {{"cloudEvents:id", "\xA1\x01" "1"}, {"cloudEvents:source", "\xA1\x02/a"},
                   {"cloudEvents:time", "\x83" + std::string(8, '\1')}}, 5},
      {"", std::string("\0\0\0\0\7{\"order\":{\"id\":7}}", 24), {{"", std::nullopt}}, 5},
  };
  static constexpr std::array names_{"id"sv, "ce_id"sv, "ce-id"sv, "ce_source"sv, "ce_type"sv, "content-type"sv,
                                     "eventType"sv, "type"sv, "ce_time"sv, "message-type"sv, "__TypeId__"sv,
                                     "MessageId"sv, "\xFF\0"sv, ""sv};
  static constexpr std::array pieces_{
      "\0"sv, "\\u0000"sv, "\\ud800"sv, "\\udc00"sv, "\xFF"sv, "\xC2\x80"sv, "\xED\xA0\x80"sv, "\""sv, "\\"sv, "{"sv,
      "}"sv, "["sv, "]"sv, ","sv, ":"sv, "null"sv, "true"sv, "1e131072"sv, "-0"sv, "\"id\":\"x\","sv, "\"id\":{},"sv,
      "\"order\":{\"id\":"sv, "\"specversion\":\"1.0\","sv, "9223372036854775807"sv, "\n"sv, " "sv, "\xEF\xBB\xBF"sv,
      "application/cloudevents+json"sv, "550e8400-e29b-41d4-a716-446655440000"sv, "2024-05-01T12:00:00Z"sv, "\x7F"sv,
      "\\\""sv, "\\u006"sv, "{\"schema\":1,\"payload\":"sv};
};

envelope::TopicRules any_rules(Mutator& mutator) {
  static constexpr std::array envelopes{EnvelopeKind::automatic, EnvelopeKind::automatic, EnvelopeKind::automatic,
                                        EnvelopeKind::cloudevents, EnvelopeKind::outbox_router, EnvelopeKind::custom,
                                        EnvelopeKind::debezium, EnvelopeKind::eventuate, EnvelopeKind::axon};
  static constexpr std::array policies{OnMissingId::quarantine, OnMissingId::position, OnMissingId::digest};
  static constexpr std::array places{"", "key", "header:id", "header:ce_type", "json:/order/id",
                                     "json:/order/lines/1/id", "json:/order", "json:/kind", "json:/at"};
  envelope::TopicRules out;
  out.topic.envelope = mutator.any_of(envelopes);
  out.topic.on_missing_id = mutator.any_of(policies);
  if (mutator.below(10) == 0) out.topic.payload_limit = 40;
  if (mutator.below(10) == 0) out.topic.tombstones = config::Tombstones::skip;
  out.topic.strict = mutator.below(10) == 0;
  for (std::string* place : {&out.topic.custom.id, &out.topic.custom.type, &out.topic.custom.source,
                             &out.topic.custom.subject, &out.topic.custom.time}) {
    *place = mutator.any_of(places);
  }
  return out;
}

int rounds() {
  const char* const wanted = std::getenv("INBOXD_FUZZ_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 20'000;
}

}  // namespace

// fault: hostile JSON (NUL escape, lone surrogate, 100,000 deep, 1e131072)
TEST_CASE("no mutated record crashes decode or yields an event that cannot be stored") {
  Mutator mutator{Catch::getSeed()};
  int events = 0;
  int rejections = 0;
  for (int round = 0; round < rounds(); ++round) {
    const OwnedRecord owned = mutator.record();
    const event::Record record = owned.view();
    const envelope::TopicRules rules = any_rules(mutator);
    base::Arena arena{256};
    const envelope::Decoded decoded = envelope::decode(record, rules, arena);
    if (const auto* event = std::get_if<event::Event>(&decoded)) {
      const auto problem = fuzz::problem_of(*event, record);
      if (problem != nullptr) FAIL("broken promise: " << problem);
      const envelope::Decoded again = envelope::decode(record, rules, arena);
      REQUIRE(std::get<event::Event>(again).event_id == event->event_id);
      REQUIRE(std::get<event::Event>(again).digest == event->digest);
      ++events;
    } else if (const auto* rejected = std::get_if<envelope::Rejected>(&decoded)) {
      REQUIRE_FALSE(rejected->detail.empty());
      REQUIRE(base::is_database_text(rejected->detail));
      ++rejections;
    }
    if (round % 16 == 0) {
      const auto steps = envelope::explain(record, rules);
      REQUIRE((steps.back().rule == "identity") == std::holds_alternative<event::Event>(decoded));
    }
  }
  CHECK(events > rounds() / 10);  // otherwise the mutations fail the first checks
  CHECK(rejections > rounds() / 10);
}
