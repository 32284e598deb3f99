#include "webhook/signature.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.hpp"
#include "base/hmac.hpp"

using namespace inboxd;
using config::SignatureScheme;

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

admin::HttpRequest request(std::string body, Headers headers) {
  admin::HttpRequest out;
  out.body = std::move(body);
  out.headers = std::move(headers);
  return out;
}

config::TopicHttp rules(SignatureScheme scheme, std::vector<std::string> secrets) {
  config::TopicHttp out;
  out.scheme = scheme;
  out.secrets = std::move(secrets);
  return out;
}

constexpr std::int64_t standard_time = 1'614'265'330;
constexpr std::int64_t stripe_time = 1'492'774'577;

}  // namespace

// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries, "Testing the webhook payload
// validation"
TEST_CASE("github's published signature is accepted for its secret and body alone") {
  const std::string secret = "It's a Secret to Everybody";
  const std::string hex = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const auto accepts = [&](const std::vector<std::string>& secrets, const std::string& body, const Headers& headers) {
    return webhook::is_signed(rules(SignatureScheme::github, secrets), request(body, headers), 0);
  };
  const Headers good{{"x-hub-signature-256", "sha256=" + hex}};
  CHECK(accepts({secret}, "Hello, World!", good));
  CHECK(accepts({"new secret", secret}, "Hello, World!", good));
  CHECK(!accepts({"new secret"}, "Hello, World!", good));
  CHECK(!accepts({secret}, "Hello, World", good));
  CHECK(!accepts({secret}, "Hello, World!", {}));
  CHECK(!accepts({secret}, "Hello, World!", {{"x-hub-signature-256", hex}}));
  CHECK(!accepts({secret}, "Hello, World!", {{"x-hub-signature-256", "sha256="}}));
  CHECK(!accepts({secret}, "Hello, World!", {{"x-hub-signature", "sha1=" + hex}}));
  CHECK(!accepts({secret}, "Hello, World!", {good[0], good[0]}));  // twice
  CHECK(!accepts({}, "Hello, World!", good));
}

// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
TEST_CASE("the signature of Standard Webhooks' specification is accepted within the tolerance") {
  const std::string secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const std::string body = R"({"test": 2432232314})";
  const Headers good{{"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
                     {"webhook-timestamp", "1614265330"},
                     {"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}};
  const auto accepts = [&](const Headers& headers, std::int64_t now = standard_time, std::string with = "") {
    return webhook::is_signed(rules(SignatureScheme::standard_webhooks, {with.empty() ? secret : with}),
                              request(body, headers), now);
  };
  const auto changed = [&](std::size_t header, const std::string& value) {
    Headers out = good;
    out[header].second = value;
    return out;
  };
  CHECK(accepts(good));
  CHECK(accepts(good, standard_time, secret.substr(6)));
  CHECK(accepts(good, standard_time + 300));
  CHECK(accepts(good, standard_time - 300));
  CHECK(!accepts(good, standard_time + 301));
  CHECK(!accepts(good, standard_time - 301));
  CHECK(accepts(changed(2, "v1a,AAAA v1,AAAA " + good[2].second)));
  CHECK(!accepts(changed(2, "v1,AAAA")));
  CHECK(!accepts(changed(2, "v1,")));
  CHECK(!accepts(changed(0, "msg_other")));
  CHECK(!accepts(changed(1, "1614265331")));
  CHECK(!accepts(changed(1, "1614265330x")));
  CHECK(!accepts({good[0], good[1]}));
  // A secret that is no base64 signs nothing, not even an empty signature.
  CHECK(!accepts(changed(2, "v1,"), standard_time, "whsec_!"));
  // Anybody could sign with an empty key.
  const std::string mac = base::base64(base::hmac_sha256("", good[0].second + "." + good[1].second + "." + body));
  CHECK(!accepts(changed(2, "v1," + mac), standard_time, "whsec_"));
}

// The signed text is that of https://docs.stripe.com/webhooks#verify-manually; the digest by Python's hmac.
TEST_CASE("stripe's signature is accepted within the tolerance, also as one of several") {
  const std::string body = R"({"id": "evt_1", "object": "event"})";
  const std::string hex = "09357d4fb8d9eba6f07fdea6b2428fa819063ec7bb7f9eca18b88cf0ff729476";
  const auto accepts = [&](const std::string& header, std::int64_t now = stripe_time) {
    return webhook::is_signed(rules(SignatureScheme::stripe, {"whsec_test_secret"}),
                              request(body, {{"stripe-signature", header}}), now);
  };
  CHECK(accepts("t=1492774577,v1=" + hex));
  CHECK(accepts("t=1492774577,v1=00,v1=" + hex + ",v0=11", stripe_time + 300));
  CHECK(!accepts("t=1492774577,v1=" + hex, stripe_time + 301));
  CHECK(!accepts("t=1492774578,v1=" + hex));
  CHECK(!accepts("t=1492774577,t=1492774577,v1=" + hex));
  CHECK(!accepts("t=1492774577,v0=" + hex));
  CHECK(!accepts("v1=" + hex));
  CHECK(!accepts(""));
}
