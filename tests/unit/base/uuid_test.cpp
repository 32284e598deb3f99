#include "base/uuid.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace inboxd::base;

namespace {
const Uuid dns = *parse_uuid("6ba7b810-9dad-11d1-80b4-00c04fd430c8");
const Uuid url = *parse_uuid("6ba7b811-9dad-11d1-80b4-00c04fd430c8");
}  // namespace

TEST_CASE("a UUID's text survives a round trip") {
  for (const std::string text : {"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
                                 "01234567-89ab-cdef-0123-456789abcdef", "550e8400-e29b-41d4-a716-446655440000"}) {
    const auto uuid = parse_uuid(text);
    REQUIRE(uuid);
    CHECK(uuid->text() == text);
  }
  CHECK(parse_uuid("01234567-89ab-cdef-0123-456789abcdef")->bytes ==
        std::array<std::uint8_t, 16>{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                     0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef});
}

TEST_CASE("a UUID is read in either case and written in lower case") {
  const auto upper = parse_uuid("550E8400-E29B-41D4-A716-446655440000");
  REQUIRE(upper);
  CHECK(upper == parse_uuid("550e8400-e29b-41d4-a716-446655440000"));
  CHECK(upper->text() == "550e8400-e29b-41d4-a716-446655440000");
}

TEST_CASE("a text that only resembles a UUID is refused") {
  for (const std::string_view text :
       {"", "550e8400", "550e8400-e29b-41d4-a716-44665544000", "550e8400-e29b-41d4-a716-4466554400000",
        "{550e8400-e29b-41d4-a716-446655440000}", "550e8400e29b41d4a716446655440000",
        "550e8400-e29b-41d4-a716-44665544000g", "g50e8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-a7164-46655440000", "550e8400_e29b_41d4_a716_446655440000",
        "550e8400-e29b-41d4-a716--46655440000", "------------------------------------",
        "550e8400-e29b-41d4-a716-44665544 000"}) {
    INFO(text);
    CHECK_FALSE(parse_uuid(text));
  }
  CHECK_FALSE(parse_uuid(std::string_view{"550e8400-e29b-41d4-a716-44665544\0" "000", 36}));
  for (int byte = 0; byte < 256; ++byte) {
    std::string text = "550e8400-e29b-41d4-a716-446655440000";
    text[35] = static_cast<char>(byte);
    CHECK(parse_uuid(text).has_value() == (std::string_view{"0123456789abcdefABCDEF"}.find(text[35]) != text.npos));
  }
}

TEST_CASE("version 5 agrees with other implementations") {
  CHECK(uuid_v5(dns, "www.example.com").text() == "2ed6657d-e927-568b-95e1-2665a8aea6a2");
  CHECK(uuid_v5(dns, "").text() == "4ebd0208-8328-5d69-8c44-ec50939c0967");
  CHECK(uuid_v5(url, std::string(1000, 'x')).text() == "68491f23-75a7-557d-943b-00881c13ae1e");
}

TEST_CASE("version 5 is the same on every thread at once") {
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::string& text : texts) threads.emplace_back([&text] { text = uuid_v5(dns, "www.example.com").text(); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) CHECK(text == "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

TEST_CASE("random UUIDs are of version 4 and differ") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_uuid().text();
    CHECK(text[14] == '4');
    CHECK(std::string_view{"89ab"}.find(text[19]) != std::string_view::npos);
    seen.insert(text);
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("fences are never 0 and never repeat") {
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_fence());
  CHECK(seen.size() == 1000);
  CHECK_FALSE(seen.contains(0));
}
