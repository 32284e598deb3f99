#include "base/hmac.hpp"

#include <catch2/catch_test_macros.hpp>

#include "base/text.hpp"

using namespace inboxd::base;

TEST_CASE("HMAC-SHA-256 gives the digests of RFC 4231") {
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(hmac_sha256("", "").size() == 32);
}

TEST_CASE("only equal texts are the same secret") {
  CHECK(same_secret("secret", "secret"));
  CHECK(!same_secret("secret", "secreT"));
  CHECK(!same_secret("secret", "secret1"));
  CHECK(!same_secret("secret", ""));
}
