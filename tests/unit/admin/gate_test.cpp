// Who may ask for what.
#include "admin/gate.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using namespace inboxd::admin;

namespace {

HttpRequest request(std::vector<std::pair<std::string, std::string>> headers, bool is_local = true) {
  HttpRequest out;
  out.headers = std::move(headers);
  out.peer = {is_local, "127.0.0.1"};
  return out;
}

int status(const std::optional<HttpResponse>& refused) { return refused ? refused->status : 200; }

}  // namespace

TEST_CASE("secrets are the same or not, whatever their lengths") {
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abcabc", "abc"));
  CHECK_FALSE(same_secret("ab", "abc"));
  CHECK_FALSE(same_secret("", "abc"));
  CHECK_FALSE(same_secret("abc", ""));
}

TEST_CASE("without a token only this machine reads, and nobody changes anything") {
  const config::Admin settings;
  const Gate gate{settings};
  CHECK(status(gate.refuse_unauthorised(request({}), Permission::read)) == 200);
  CHECK(status(gate.refuse_unauthorised(request({}, false), Permission::read)) == 403);
  CHECK(status(gate.refuse_unauthorised(request({}), Permission::change)) == 403);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer "}}), Permission::change)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer x"}}), Permission::read)) == 401);
}

TEST_CASE("with the token everybody may; without it other machines may nothing") {
  config::Admin settings;
  settings.token = config::Secret{"open sesame"};
  const Gate gate{settings};
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "bearer open sesame"}}, false),
                                        Permission::change)) == 200);
  CHECK(status(gate.refuse_unauthorised(request({}, false), Permission::read)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({}), Permission::read)) == 200);
  CHECK(status(gate.refuse_unauthorised(request({}), Permission::change)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({{"forwarded", "for=1"}}), Permission::read)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({{"via", "1.1 proxy"}}), Permission::read)) == 401);
}

TEST_CASE("hosts are told apart without their ports") {
  CHECK(host_of("LocalHost:9470") == "localhost");
  CHECK(host_of("[::1]:9470") == "::1");
  CHECK(host_of("[::1") == "::1");
  CHECK(host_of("a") == "a");
  const config::Admin settings;
  const Gate gate{settings};
  CHECK(status(gate.refuse_foreign(request({{"host", "localhost."}}))) == 403);
  CHECK(status(gate.refuse_foreign(request({{"host", ""}}))) == 403);
  CHECK(status(gate.refuse_foreign(request({{"host", "127.0.0.1.evil.example"}}))) == 403);
  CHECK(status(gate.refuse_foreign(request({{"host", "10.1.2.3:9470"}}))) == 200);
  CHECK(status(gate.refuse_foreign(request({{"host", "localhost:1"}, {"origin", "http://localhost:2"}}))) == 403);
}

TEST_CASE("who asked is escaped and bounded") {
  const auto actor = Gate::actor_of(request({{"inboxd-actor", "eve\x1b[2J" + std::string(500, 'x')}}));
  CHECK(actor.find('\x1b') == std::string::npos);
  CHECK(actor.size() < 200);
  CHECK(actor.ends_with(", admin port, 127.0.0.1"));
}
