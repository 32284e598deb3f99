#include "envelope/identity.hpp"

#include <set>

#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;
using config::EnvelopeKind;
using config::OnMissingId;

namespace {

/// Of {"a":1}, the payload of most records here.
constexpr std::string_view sha256_of_payload = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";

std::string id_by(OnMissingId policy, const event::Record& record, TopicRules by = rules()) {
  by.topic.on_missing_id = policy;
  return Outcome{record, by}.id();
}

}  // namespace

TEST_CASE("an id has 1 to 256 bytes of UTF-8 without control characters") {
  for (const std::string& id : {std::string{"1"}, std::string(256, 'x'), std::string{"Grüße 😀"}, std::string{" "},
                                std::string{"\xC2\xA0"}, std::string{"a~b|c\\d\"e'f"}}) {
    CHECK_FALSE(problem_with_id(id));
  }
  CHECK(problem_with_id("") == "is empty");
  CHECK(problem_with_id(std::string(257, 'x')) == "has 257 bytes; the limit is 256");
  CHECK(problem_with_id("a\xFF") == "is not UTF-8");
  CHECK(problem_with_id("\xED\xA0\x80") == "is not UTF-8");
  CHECK(problem_with_id("\xC2") == "is not UTF-8");
}

TEST_CASE("each control character is found at every place of an id") {
  for (std::size_t length = 1; length < 40; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int control = 0; control < 256; ++control) {
        std::string id(length, 'x');
        id[at] = static_cast<char>(control);
        REQUIRE(problem_with_id(id).has_value() == (control < 0x20 || control >= 0x7F));
      }
    }
  }
  CHECK(problem_with_id("a\xC2\x80") == "has control characters");
  CHECK(problem_with_id("a\xC2\x9F") == "has control characters");
}

TEST_CASE("different parts never make the same name") {
  // An equal concatenation, but different parts.
  std::set<std::string> ids;
  for (const auto& [source, id] : {std::pair{"a", "bc"}, {"ab", "c"}, {"a,2:bc", "d"}, {"a", "2:bc,d"}, {"a", "b,c"}}) {
    ids.insert(Outcome{with_headers({{"ce_id", id}, {"ce_source", source}})}.id());
  }
  CHECK(ids.size() == 5);
}

// fault: topic deleted and created again
TEST_CASE("a position id tells partitions, offsets, topics, incarnations and namespaces apart") {
  const event::Record at = record();
  std::set<std::string> ids{id_by(OnMissingId::position, at)};
  event::Record other = at;
  other.partition = 4;
  ids.insert(id_by(OnMissingId::position, other));
  other = at;
  other.offset = 42;
  ids.insert(id_by(OnMissingId::position, other));
  other = at;
  other.topic = "payments";
  ids.insert(id_by(OnMissingId::position, other));
  TopicRules by = rules();
  by.incarnation = "Zx8";
  ids.insert(id_by(OnMissingId::position, at, by));
  by = rules();
  by.name_space = "test";
  ids.insert(id_by(OnMissingId::position, at, by));
  by.name_space = "";
  by.incarnation = "";
  ids.insert(id_by(OnMissingId::position, at, by));
  CHECK(ids.size() == 7);
}

TEST_CASE("a position id is the same when the record is read again, with any content") {
  event::Record again = record("other", "key");
  again.timestamp = 5;
  CHECK(id_by(OnMissingId::position, record()) == id_by(OnMissingId::position, again));
  CHECK(id_by(OnMissingId::position, record()) == "e7bf7d14-7066-503e-a526-3d72aa945404");
  CHECK_FALSE(Outcome{record(), rules(EnvelopeKind::automatic, OnMissingId::position)}.event().source_id);
}

TEST_CASE("a digest id is the same for the same key and payload at another offset") {
  event::Record again = record();
  again.offset = 99;
  again.partition = 7;
  again.headers = {{"traceparent", "00-1"}};
  CHECK(id_by(OnMissingId::digest, record()) == "5c8a24e4-a97e-5e96-9c64-d4fdc0d395c9");
  CHECK(id_by(OnMissingId::digest, again) == id_by(OnMissingId::digest, record()));
  CHECK(id_by(OnMissingId::digest, record(R"({"a":1})", std::nullopt)) == "4fe64c2b-694d-56a7-945e-dc929539fae0");
}

TEST_CASE("digests and digest ids tell null, empty and every border apart") {
  std::set<std::string> ids;
  std::set<std::int64_t> digests;
  std::size_t count = 0;
  const std::vector<event::MaybeBytes> values{std::nullopt, ""sv,     "a"sv, "ab"sv, "b"sv,
                                              "\0"sv,       "\0\0"sv, "-"sv, "0:,"sv};
  for (const auto& key : values) {
    for (const auto& payload : values) {
      ids.insert(id_by(OnMissingId::digest, record(payload, key)));
      digests.insert(digest_of(key, payload));
      ++count;
    }
  }
  CHECK(ids.size() == count);
  CHECK(digests.size() == count);
}

TEST_CASE("a digest never changes between versions and machines") {
  CHECK(digest_of("k-1", R"({"a":1})") == digest_of(std::string{"k-1"}, std::string{R"({"a":1})"}));
  CHECK(digest_of(std::nullopt, std::nullopt) == 2053705842510522040);
  CHECK(digest_of("k-1", R"({"a":1})") == 2145796183569018897);
  CHECK(digest_of("k-1", std::string(5000, 'x')) == 6881283610311191933);
}

TEST_CASE("the digest is of key and payload, not of the headers or the offset") {
  event::Record again = with_headers({{"id", a_uuid}, {"traceparent", "00-2"}});
  again.offset = 77;
  again.timestamp = 1;
  const Outcome first{with_headers({{"id", a_uuid}, {"traceparent", "00-1"}})};
  const Outcome second{again};
  CHECK(first.event().digest == second.event().digest);
  const Outcome changed{with_headers({{"id", a_uuid}}, R"({"a":2})")};
  CHECK(changed.id() == first.id());
  CHECK(changed.event().digest != first.event().digest);
}

TEST_CASE("a copy or a dead letter of an inbox keeps its event's identity, whichever rule matches") {
  const std::string origin = "0b1c2d3e-4f50-4162-8394-a5b6c7d8e9fa";
  const Headers cloudevent{{"ce_specversion", "1.0"}, {"ce_id", "1"}, {"ce_source", "/s"}, {"ce_type", "T"}};
  for (const Headers& headers : {Headers{}, Headers{{"id", "text-id"}}, Headers{{"id", a_uuid}}, cloudevent}) {
    Headers copy = headers;
    copy.emplace_back("inboxd-event-id", origin);
    if (!headers.empty()) CHECK(Outcome{with_headers(copy)}.id() != origin);  // of no topic: of something else
    copy.emplace_back("inboxd-topic", "orders");
    copy.emplace_back("inboxd-payload-sha256", sha256_of_payload);
    CHECK(Outcome{with_headers(copy)}.id() == origin);
  }
  Headers copy{{"inboxd-topic", "orders"},
               {"inboxd-event-id", "no UUID"},
               {"id", a_uuid},
               {"inboxd-payload-sha256", sha256_of_payload}};
  CHECK(Outcome{with_headers(copy)}.id() == a_uuid);
  const auto with_id = [&](std::string_view id) {
    return Outcome{with_headers({{"id", id},
                                 {"inboxd-topic", "o"},
                                 {"inboxd-event-id", origin},
                                 {"inboxd-payload-sha256", sha256_of_payload}})};
  };
  CHECK(with_id("text-id").event().source_id == "text-id"sv);
  CHECK_FALSE(with_id(origin).event().source_id);
}

TEST_CASE("a record with the forwarded headers of a copy and another payload has its own identity") {
  const Headers forwarded{{"inboxd-event-id", "0b1c2d3e-4f50-4162-8394-a5b6c7d8e9fa"},
                          {"inboxd-topic", "orders"},
                          {"inboxd-payload-sha256", sha256_of_payload},
                          {"id", a_uuid}};
  CHECK(Outcome{with_headers(forwarded)}.id() != a_uuid);
  CHECK(Outcome{with_headers(forwarded, R"({"a":2})")}.id() == a_uuid);
  CHECK(Outcome{with_headers(forwarded, std::nullopt)}.id() == a_uuid);
  Headers without = forwarded;
  without.erase(without.begin() + 2);
  CHECK(Outcome{with_headers(without)}.id() == a_uuid);
  Headers tombstone = forwarded;
  tombstone[2].value = "null";
  CHECK(Outcome{with_headers(tombstone, std::nullopt)}.id() != a_uuid);
  CHECK(Outcome{with_headers(tombstone, "")}.id() == a_uuid);
}
