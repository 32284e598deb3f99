#include "admin/http_server.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <future>
#include <list>

#include "support/environment.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::admin;
using support::milliseconds;
using support::RawConnection;
using support::wait_until;

namespace {

constexpr std::string_view ask_slow = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_large = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_unwanted = "GET /unwanted HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_small = "GET /small HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_quick = "GET /quick HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server with a lane of which `/slow` is answered when `let_go` is called, and everything else at once.
class Served final {
 public:
  explicit Served(HttpServer::Limits limits)
      : server_{limits, {"lane"}, [this](const HttpRequest& request) { return respond(request); }, log_} {
    server_.start(std::get<std::vector<Listener>>(listen_on("127.0.0.1:" + std::to_string(port))));
  }
  ~Served() { let_go(); }

  /// More than the kernel keeps of it for a client that does not read.
  static std::string large_answer() { return std::string(32 << 20, 'x'); }

  const int port = support::free_port();
  std::atomic<bool> begun{false};
  std::atomic<bool> was_told{false};  ///< the work of `/unwanted` has seen that nobody waits
  void let_go() {
    if (!let_go_.exchange(true)) gate_.set_value();
  }

 private:
  std::variant<HttpResponse, LaneWork> respond(const HttpRequest& request) {
    if (request.path == "/quick") return LaneWork{0, [](const auto&) { return HttpResponse{200, "quick"}; }};
    if (request.path == "/small") return LaneWork{0, [](const auto&) { return HttpResponse{200, "small"}; }, true};
    if (request.path == "/large") return LaneWork{0, [](const auto&) { return HttpResponse{200, large_answer()}; }};
    if (request.path == "/unwanted") {
      return LaneWork{0, [this](const auto& nobody_waits) {
                        begun = true;
                        wait_until("nobody waits", [&] { return nobody_waits || let_go_; });
                        was_told = nobody_waits.load();
                        return HttpResponse{200, "unwanted"};
                      }};
    }
    return LaneWork{0, [open = opened_](const auto&) {
                      open.wait();
                      return HttpResponse{200, "slow"};
                    }};
  }

  std::promise<void> gate_;
  std::shared_future<void> opened_{gate_.get_future()};
  std::atomic<bool> let_go_{false};
  base::Logger log_{base::LogLevel::error, base::LogFormat::text};
  HttpServer server_;
};

}  // namespace

TEST_CASE("an answer that came too late is nobody else's, and its connection ends") {
  HttpServer::Limits limits;
  limits.answer = milliseconds{200};
  Served served{limits};
  RawConnection connection{served.port};
  connection.send(ask_slow);
  CHECK(connection.receive().status == 503);
  connection.send(ask_quick);
  served.let_go();
  const auto next = connection.receive();
  CHECK(next.body != "slow");
  CHECK(next.status == 0);
}

TEST_CASE("empty lines before a request win it no time") {
  HttpServer::Limits limits;
  limits.receive = milliseconds{300};
  Served served{limits};
  RawConnection connection{served.port};
  const auto began = support::monotonic_ms();
  wait_until(
      "the connection ends", [&] { return !connection.send("\r\n") || connection.ends(milliseconds{100}); },
      milliseconds{5'000});
  CHECK(support::monotonic_ms() - began < 3'000);
}

TEST_CASE("a connection that is kept has its time anew for each request") {
  HttpServer::Limits limits;
  limits.receive = milliseconds{400};
  Served served{limits};
  RawConnection connection{served.port};
  const auto began = support::monotonic_ms();
  while (support::monotonic_ms() - began < 1'000) {
    REQUIRE(connection.send(ask_quick));
    CHECK(connection.receive().status == 200);
    CHECK_FALSE(connection.ends(milliseconds{100}));
  }
}

TEST_CASE("where clients do not take their answers the next are refused until they have gone") {
  HttpServer::Limits limits;
  limits.unsent = 40 << 20;
  Served served{limits};
  std::list<RawConnection> silent;
  for (int i = 0; i < 8; ++i) silent.emplace_back(served.port).send(ask_large);
  RawConnection connection{served.port};
  connection.send(ask_quick);
  CHECK(connection.receive().status == 503);  // the one lane has been at the others by now
  connection.send(ask_small);                 // as a scrape is, or a change
  CHECK(connection.receive().status == 200);

  silent.clear();
  wait_until("it is answered again", [&] {
    connection.send(ask_quick);
    return connection.receive().status == 200;
  });
}

TEST_CASE("work is told when its client has gone") {
  Served served{HttpServer::Limits{}};
  {
    RawConnection connection{served.port};
    connection.send(ask_unwanted);
    wait_until("it is at it", [&] { return served.begun.load(); });
  }
  wait_until("it is told", [&] { return served.was_told.load(); });
}
