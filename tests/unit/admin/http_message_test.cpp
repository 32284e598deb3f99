// Requests as bytes, whole and in pieces, and refused requests.
#include "admin/http_message.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::admin;
using State = RequestReader::State;

namespace {

RequestReader reader(std::size_t header = 1'000, std::size_t body = 100) {
  return RequestReader{{.header_bytes = header, .body_bytes = body, .headers = 10}};
}

int refused_with(const std::string& bytes) {
  auto one = reader();
  return one.take(bytes) == State::refused ? one.problem().status : 0;
}

}  // namespace

TEST_CASE("a request is read from pieces of any size") {
  const std::string bytes =
      "POST /v1/dead/replay?a=%2F&b HTTP/1.1\r\nHost: localhost\r\nContent-Type:\t application/json \r\n"
      "Content-Length: 4\r\n\r\n{  }GET /livez HTTP/1.0\r\n\r\n";
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    auto one = reader();
    std::vector<HttpRequest> found;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      auto state = one.take(std::string_view{bytes}.substr(at, size));
      while (state == State::complete) {
        found.push_back(one.next());
        state = one.state();
      }
    }
    CAPTURE(size);
    REQUIRE(found.size() == 2);
    CHECK(found[0].method == "POST");
    CHECK(found[0].path == "/v1/dead/replay");
    CHECK(found[0].query == "a=%2F&b");
    CHECK(*found[0].header("content-type") == "application/json");
    CHECK(found[0].body == "{  }");
    CHECK(found[0].keep_alive);
    CHECK(found[1].path == "/livez");
    CHECK(found[1].body.empty());
    CHECK_FALSE(found[1].keep_alive);
    CHECK_FALSE(one.has_begun());
  }
}

TEST_CASE("an ambiguous request is refused") {
  CHECK(refused_with("GET /\r\n\r\n") == 400);
  CHECK(refused_with("GET  / HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(refused_with("GET / x HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(refused_with("G(T / HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\nB: c\r\n\r\n") == 400);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n") == 400);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n") == 400);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n") == 400);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 2\r\n\r\n") == 400);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nauthorization: y\r\n\r\n") == 400);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n") == 411);
  CHECK(refused_with("GET / HTTP/1.2\r\nHost: a\r\n\r\n") == 505);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n") == 417);
}

TEST_CASE("a request over a limit is refused at once") {
  CHECK(refused_with(std::string(1'001, 'a')) == 431);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n") == 413);
  CHECK(refused_with("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n") == 0);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 10; ++i) many += "a: b\r\n";
  CHECK(refused_with(many + "\r\n") == 431);
}

TEST_CASE("a head of exactly the limit is taken, in one piece or byte by byte") {
  const std::string request = "GET /" + std::string(970, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  auto whole = reader(request.size() - 4), cut = reader(request.size() - 4);
  CHECK(whole.take(request) == State::complete);
  for (const char byte : request) cut.take({&byte, 1});
  CHECK(cut.state() == State::complete);
}

TEST_CASE("a client that waits for 100 Continue gets it once") {
  auto one = reader();
  CHECK(one.take("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n") ==
        State::wants_continue);
  CHECK(one.take("{") == State::wants_more);
  CHECK(one.take("}") == State::complete);
  CHECK(one.next().body == "{}");
}

TEST_CASE("a query is decoded or refused") {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(query_of("a=1&a=x%2Fy+z&&b") == Pairs{{"a", "1"}, {"a", "x/y z"}, {"b", ""}});
  CHECK(query_of("") == Pairs{});
  CHECK_FALSE(query_of("a=%2"));
  CHECK_FALSE(query_of("a=%zz"));
}

TEST_CASE("a response to HEAD has the length of its body without the body, and headers against other sites") {
  const std::string bytes = bytes_of({200, "{}\n"}, true, true);
  CHECK(bytes.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(bytes.ends_with("\r\n\r\n"));
  CHECK(bytes.find("Content-Length: 3\r\n") != std::string::npos);
  CHECK(bytes.find("Connection: close") != std::string::npos);
  CHECK(bytes.find("nosniff") != std::string::npos);
}
