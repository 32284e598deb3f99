#include "kafka/property_check.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace inboxd::kafka {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("properties, aliases and topic properties are known, and no other names") {
  for (const char* const name : {"session.timeout.ms", "debug", "sasl.mechanism", "sasl.mechanisms", "sasl.password",
                                 "acks", "topic.blacklist", "ssl.truststore.location", "security.protocol"}) {
    INFO(name);
    CHECK(knows_property(name));
  }
  for (const char* const name : {"sesion.timeout.ms", "Session.Timeout.Ms", "no.such.property", "", " debug"}) {
    INFO(name);
    CHECK_FALSE(knows_property(name));
  }
}

TEST_CASE("a refused value is reported with the accepted values") {
  const auto refusal = [](const char* name, const char* value) {
    return refusal_of_value(name, value).value_or("none");
  };
  CHECK_THAT(refusal("session.timeout.ms", "abc"), ContainsSubstring("it takes 1 .. 3600000"));
  CHECK_THAT(refusal("session.timeout.ms", ""), ContainsSubstring("it takes 1 .. 3600000"));
  CHECK_THAT(refusal("session.timeout.ms", "0"), ContainsSubstring("1..3600000"));
  CHECK_THAT(refusal("security.protocol", "ssl_sasl"),
             ContainsSubstring("it takes plaintext, ssl, sasl_plaintext, sasl_ssl"));
  CHECK_THAT(refusal("debug", "all,some"), ContainsSubstring("it takes generic, broker, "));
  CHECK_THAT(refusal("socket.keepalive.enable", "yes"), ContainsSubstring("true or false"));
  CHECK_THAT(refusal("topic.blacklist", "^("), ContainsSubstring("Unmatched"));
  CHECK_THAT(refusal("ssl.truststore.location", "/x"), ContainsSubstring("use `ssl.ca.location`"));
  for (const char* const value : {"abc", "", "0"}) {
    CHECK(refusal("session.timeout.ms", value).find('\n') == std::string::npos);
  }
}

TEST_CASE("accepted values pass, names of missing files included") {
  CHECK_FALSE(refusal_of_value("session.timeout.ms", "6000").has_value());
  CHECK_FALSE(refusal_of_value("debug", "cgrp,fetch").has_value());
  CHECK_FALSE(refusal_of_value("ssl.ca.location", "/nonexistent/ca.pem").has_value());
  CHECK_FALSE(refusal_of_value("acks", "all").has_value());
}

TEST_CASE("the listed names are the documented properties and nothing else") {
  const auto names = property_names();
  CHECK(names.size() > 150);
  CHECK(std::all_of(names.begin(), names.end(), knows_property));
  for (const char* const name : {"session.timeout.ms", "sasl.mechanism", "topic.blacklist"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

}  // namespace inboxd::kafka
