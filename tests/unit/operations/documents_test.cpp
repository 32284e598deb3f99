// Values as JSON.
#include "operations/documents.hpp"

#include <catch2/catch_test_macros.hpp>

#include "event/headers.hpp"

using namespace inboxd;
using namespace inboxd::operations;

TEST_CASE("bytes are text if they are UTF-8, else base64, and null is not empty") {
  CHECK(bytes_of(std::string{"größer"}) == Document("größer"));
  CHECK(bytes_of(std::string{}) == Document(""));
  CHECK(bytes_of(std::nullopt).is_null());
  CHECK(bytes_of(std::string{"\xff\x00\x01", 3}).dump() == R"({"base64":"/wAB"})");
}

TEST_CASE("headers keep their order, their repetition and their nulls") {
  const std::string packed = event::pack_headers({{"b", "1"}, {"a", std::nullopt}, {"b", "2"}});
  CHECK(headers_of(packed).dump() ==
        R"([{"name":"b","value":"1"},{"name":"a","value":null},{"name":"b","value":"2"}])");
  CHECK(headers_of(std::nullopt).dump() == "[]");
}

TEST_CASE("a count that stopped at a limit says so next to the number") {
  Document document;
  put_count(document, "due", {7, false});
  put_count(document, "dead", {100'000, true});
  CHECK(document.dump() == R"({"due":7,"dead":100000,"at_least_dead":true})");
}
