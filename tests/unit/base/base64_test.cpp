// Base64.
#include <catch2/catch_test_macros.hpp>

#include "base/base64.hpp"

using namespace inboxd;
using namespace std::string_literals;

TEST_CASE("base64 pads to fours, and is read as it was written") {
  CHECK(base::base64("") == "");
  CHECK(base::base64("f") == "Zg==");
  CHECK(base::base64("fo") == "Zm8=");
  CHECK(base::base64("foo") == "Zm9v");
  CHECK(base::base64("foobar") == "Zm9vYmFy");
  for (const std::string& bytes : {""s, "f"s, "fo"s, "foo"s, "\0"s, "\xff\0\xfe\0"s}) {
    CHECK(base::from_base64(base::base64(bytes)) == bytes);
  }
}

TEST_CASE("text that is no base64 is refused") {
  for (const char* const text :
       {"Zg=", "Zg", "Z===", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm-v", "Zm_v", " Zg=", "====", "Zö=="}) {
    INFO(text);
    CHECK_FALSE(base::from_base64(text));
  }
}
