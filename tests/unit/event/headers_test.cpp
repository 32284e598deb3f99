#include "event/headers.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <random>
#include <string>

#include "event/event.hpp"

using namespace inboxd::event;
using namespace std::string_view_literals;

TEST_CASE("packed headers keep order, repetition, null, empty and any bytes") {
  const std::vector<Header> headers{{"b", "1"}, {"a", std::nullopt}, {"b", ""}, {"", "\0\xFF"sv}, {"\xFF\0"sv, "2"}};
  CHECK(unpack_headers(pack_headers(headers)) == headers);
  const auto back = unpack_headers(pack_headers(headers));
  CHECK_FALSE(back[1].value.has_value());
  CHECK(back[2].value == ""sv);
}

TEST_CASE("the packed form is length, name, length, value in network order") {
  CHECK(pack_headers({{"id", "abc"}, {"n", std::nullopt}}) ==
        "\0\0\0\2id\0\0\0\3abc\0\0\0\1n\xFF\xFF\xFF\xFF"sv);
  CHECK(pack_headers({}).empty());
}

TEST_CASE("packing into an arena makes the same bytes") {
  inboxd::base::Arena arena{8};
  const std::vector<Header> headers{{"id", "abc"}, {"n", std::nullopt}, {"e", ""}};
  CHECK(pack_headers(headers, arena) == pack_headers(headers));
}

TEST_CASE("truncated headers are read as far as they go") {
  const std::string packed = pack_headers({{"id", "abc"}, {"type", "order"}});
  for (std::size_t length = 0; length <= packed.size(); ++length) {
    const auto headers = unpack_headers(std::string_view{packed}.substr(0, length));
    CHECK(headers.size() == (length == packed.size() ? 2 : length >= 13 ? 1 : 0));
  }
}

TEST_CASE("hostile lengths in packed headers do no harm") {
  CHECK(unpack_headers("\x7F\xFF\xFF\xFFid"sv).empty());
  CHECK(unpack_headers("\xFF\xFF\xFF\xFF\0\0\0\0"sv).empty());
  CHECK(unpack_headers("\0\0\0\1a\x80\0\0\0"sv).empty());
  std::mt19937 random{Catch::getSeed()};
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 6);
    for (const Header& header : unpack_headers(bytes)) CHECK(header.name.size() <= bytes.size());
  }
}

TEST_CASE("the last of repeated headers is found") {
  const std::vector<Header> headers{{"id", "1"}, {"id", "2"}, {"ID", "3"}, {"n", "x"}, {"n", std::nullopt}};
  REQUIRE(find_header(headers, "id") != nullptr);
  CHECK(find_header(headers, "id")->value == "2"sv);
  REQUIRE(find_header(headers, "n") != nullptr);
  CHECK_FALSE(find_header(headers, "n")->value.has_value());
  CHECK(find_header(headers, "i") == nullptr);
}

TEST_CASE("an event's size counts all its bytes") {
  Event event;
  CHECK(size_of(event) == sizeof(Event));
  event.key = "12";
  event.payload = std::string_view{""};
  event.headers = "123";
  event.event_type = "type";
  event.source = "s";
  CHECK(size_of(event) == sizeof(Event) + 10);
}
