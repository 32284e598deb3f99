// Authorisation of requests.
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

TEST_CASE("secrets of any lengths are compared as a whole") {
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abcabc", "abc"));
  CHECK_FALSE(same_secret("ab", "abc"));
  CHECK_FALSE(same_secret("", "abc"));
  CHECK_FALSE(same_secret("abc", ""));
}

TEST_CASE("without a token only this machine may read, and no client may change anything") {
  const config::Admin settings;
  const std::string no_key;
  const Gate gate{settings, no_key};
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::read)) == 200);
  CHECK(status(gate.refuse_unauthorised(request({}, false), operations::Permission::read)) == 403);
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::change)) == 403);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer "}}), operations::Permission::change)) ==
        401);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer x"}}), operations::Permission::read)) ==
        401);
}

TEST_CASE("with the token every client may do everything, without it other machines nothing") {
  config::Admin settings;
  settings.token = config::Secret{"open sesame"};
  const std::string no_key;
  const Gate gate{settings, no_key};
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "bearer open sesame"}}, false),
                                        operations::Permission::change)) == 200);
  CHECK(status(gate.refuse_unauthorised(request({}, false), operations::Permission::read)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::read)) == 200);
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::change)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({{"forwarded", "for=1"}}), operations::Permission::read)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({{"via", "1.1 proxy"}}), operations::Permission::read)) == 401);
}

TEST_CASE("the read token allows reads, also from other machines, and no change") {
  config::Admin settings;
  settings.token = config::Secret{"open sesame"};
  settings.read_token = config::Secret{"look only"};
  const std::string no_key;
  const Gate gate{settings, no_key};
  const auto as_reader = request({{"authorization", "Bearer look only"}}, false);
  CHECK(status(gate.refuse_unauthorised(as_reader, operations::Permission::read)) == 200);
  CHECK(status(gate.refuse_unauthorised(as_reader, operations::Permission::read_with_token)) == 200);
  CHECK(status(gate.refuse_unauthorised(as_reader, operations::Permission::change)) == 403);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer look"}}), operations::Permission::read)) ==
        401);
  const auto as_administrator = request({{"authorization", "Bearer open sesame"}});
  CHECK(status(gate.refuse_unauthorised(as_administrator, operations::Permission::change)) == 200);
}

TEST_CASE("with the read token alone no client may change anything") {
  config::Admin settings;
  settings.read_token = config::Secret{"look only"};
  const std::string no_key;
  const Gate gate{settings, no_key};
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::change)) == 403);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer look only"}}),
                                        operations::Permission::change)) == 403);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer "}}), operations::Permission::change)) ==
        401);
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::read_with_token)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({}, false), operations::Permission::read)) == 401);
}

TEST_CASE("with read: token every read needs a token, also on this machine") {
  config::Admin settings;
  settings.read = config::AdminRead::token;
  settings.read_token = config::Secret{"look only"};
  const std::string no_key;
  const Gate gate{settings, no_key};
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::read)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({}), operations::Permission::read_with_token)) == 401);
  CHECK(status(gate.refuse_unauthorised(request({{"authorization", "Bearer look only"}}),
                                        operations::Permission::read)) == 200);
}

TEST_CASE("hosts are compared without their ports") {
  CHECK(host_of("LocalHost:9470") == "localhost");
  CHECK(host_of("[::1]:9470") == "::1");
  CHECK(host_of("[::1") == "::1");
  CHECK(host_of("a") == "a");
  const config::Admin settings;
  const std::string no_key;
  const Gate gate{settings, no_key};
  CHECK(status(gate.refuse_foreign(request({{"host", "localhost."}}))) == 403);
  CHECK(status(gate.refuse_foreign(request({{"host", ""}}))) == 403);
  CHECK(status(gate.refuse_foreign(request({{"host", "127.0.0.1.evil.example"}}))) == 403);
  CHECK(status(gate.refuse_foreign(request({{"host", "10.1.2.3:9470"}}))) == 200);
  CHECK(status(gate.refuse_foreign(request({{"host", "localhost:1"}, {"origin", "http://localhost:2"}}))) == 403);
}

TEST_CASE("the actor is escaped and cut to a length") {
  const config::Admin settings;
  const std::string no_key;
  const auto actor = Gate{settings, no_key}.actor_of(request({{"inboxd-actor", "eve\x1b[2J" + std::string(500, 'x')}}));
  CHECK(actor.find('\x1b') == std::string::npos);
  CHECK(actor.size() < 200);
  CHECK(actor.ends_with(", admin port, 127.0.0.1"));
}
