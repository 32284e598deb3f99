#include "admin/http_server.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <future>
#include <list>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "support/http.hpp"
#include "support/test_environment.hpp"

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
constexpr std::string_view ask_health = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_with_token = "GET /token HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_later = "GET /later HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_quick = "GET /quick HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server with a single lane. `/slow` is answered after let_go(), everything else at once, `/health` without the
/// lane.
class Served final {
 public:
  explicit Served(HttpServer::Limits limits)
      : server_{limits,
                {"lane"},
                [this](const HttpRequest& request) { return respond(request); },
                log_,
                [this](const HttpServer::Answer& answer) { note(answer); }} {
    server_.start(std::get<std::vector<Listener>>(listen_on("127.0.0.1:" + std::to_string(port))));
  }
  ~Served() { let_go(); }

  /// More than the kernel buffers for a client that does not read.
  static std::string large_answer() { return std::string(32 << 20, 'x'); }

  const int port = support::free_port();
  const HttpServer::Counts& counts() const { return server_.counts(); }
  std::atomic<bool> begun{false};
  std::atomic<bool> was_told{false};  ///< the work of `/unwanted` has seen that its client has gone
  /// The requests of `/later` that have begun.
  std::size_t later() const {
    const base::Lock lock{mutex_};
    return tickets_.size();
  }
  /// Answers the last request of `/later`.
  void finish_later() {
    HttpServer::Answers answers;
    {
      const base::Lock lock{mutex_};
      answers.emplace_back(tickets_.back(), HttpResponse{202, "later"});
    }
    server_.finish(std::move(answers));
  }
  /// The path of each request with the status of its answer, 0 without an answer.
  std::vector<std::string> answered() const {
    const base::Lock lock{mutex_};
    return answered_;
  }
  void let_go() {
    if (!let_go_.exchange(true)) gate_.set_value();
  }

 private:
  HttpServer::Outcome respond(const HttpRequest& request) {
    if (request.path == "/later") {
      return LaterWork{[this](Ticket ticket) {
        const base::Lock lock{mutex_};
        tickets_.push_back(std::move(ticket));
      }};
    }
    if (request.path == "/health") return HttpResponse{200, "health"};
    if (request.path == "/quick") return LaneWork{0, [](const auto&) { return HttpResponse{200, "quick"}; }};
    if (request.path == "/token") {
      return LaneWork{0, [](const auto&) { return HttpResponse{200, "token"}; }, true, true};
    }
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
    return LaneWork{0, [this, open = opened_](const auto&) {
                      begun = true;
                      open.wait();
                      return HttpResponse{200, "slow"};
                    }};
  }

  void note(const HttpServer::Answer& answer) {
    const base::Lock lock{mutex_};
    answered_.push_back(answer.path + " " + std::to_string(answer.response == nullptr ? 0 : answer.response->status));
  }

  mutable base::Mutex mutex_;
  std::vector<Ticket> tickets_ GUARDED_BY(mutex_);
  std::vector<std::string> answered_ GUARDED_BY(mutex_);
  std::promise<void> gate_;
  std::shared_future<void> opened_{gate_.get_future()};
  std::atomic<bool> let_go_{false};
  base::Logger log_{base::LogLevel::error, base::LogFormat::text};
  HttpServer server_;
};

/// Occupies the lane with `slow`, and the two places of the queue.
void fill_queue(const Served& served, RawConnection& slow, std::list<RawConnection>& waiting) {
  slow.send(ask_slow);
  wait_until("the lane runs it", [&] { return served.begun.load(); });
  for (int i = 0; i < 2; ++i) {
    waiting.emplace_back(served.port).send(ask_quick);
    wait_until("it waits", [&] { return served.counts().waiting == i + 1; });
  }
}

}  // namespace

TEST_CASE("a late answer goes to no other request, and its connection ends") {
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

TEST_CASE("a request is counted with the answer that it got, also if that was no answer or a refusal of its head") {
  using Answered = std::vector<std::string>;
  HttpServer::Limits limits;
  limits.answer = milliseconds{200};
  Served served{limits};
  RawConnection late{served.port};
  late.send(ask_later);
  CHECK(late.receive().status == 503);
  served.finish_later();
  RawConnection next{served.port};
  next.send(ask_health);
  CHECK(next.receive().status == 200);
  CHECK(served.answered() == Answered{"/later 503", "/health 200"});
  next.send("POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n");
  CHECK(next.receive().status == 413);
  CHECK(served.answered().back() == "/large 413");
}

TEST_CASE("a request whose client left before the answer is counted without an answer") {
  Served served{HttpServer::Limits{}};
  {
    RawConnection connection{served.port};
    connection.send(ask_later);
    wait_until("it has begun", [&] { return served.later() == 1; });
  }
  wait_until("it is counted", [&] { return served.answered() == std::vector<std::string>{"/later 0"}; });
  served.finish_later();
  RawConnection next{served.port};
  next.send(ask_health);
  CHECK(next.receive().status == 200);
  CHECK(served.answered() == std::vector<std::string>{"/later 0", "/health 200"});
}

TEST_CASE("empty lines before a request do not extend its time") {
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

TEST_CASE("each request of a kept connection has the full time") {
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

TEST_CASE("unread answers above the limit refuse further work until their clients have gone") {
  HttpServer::Limits limits;
  limits.unsent = 40 << 20;
  Served served{limits};
  std::list<RawConnection> silent;
  for (int i = 0; i < 8; ++i) silent.emplace_back(served.port).send(ask_large);
  RawConnection connection{served.port};
  connection.send(ask_quick);
  CHECK(connection.receive().status == 503);  // the lane has answered the others by now
  connection.send(ask_small);                 // like a scrape or a change
  CHECK(connection.receive().status == 200);

  silent.clear();
  wait_until("it is answered again", [&] {
    connection.send(ask_quick);
    return connection.receive().status == 200;
  });
}

TEST_CASE("work is notified when its client has gone") {
  Served served{HttpServer::Limits{}};
  {
    RawConnection connection{served.port};
    connection.send(ask_unwanted);
    wait_until("it is at it", [&] { return served.begun.load(); });
  }
  wait_until("it is told", [&] { return served.was_told.load(); });
}

TEST_CASE("with a full queue a request gets 503 with Retry-After, and health is answered") {
  HttpServer::Limits limits;
  limits.queue = 2;
  Served served{limits};
  RawConnection slow{served.port};
  std::list<RawConnection> waiting;
  fill_queue(served, slow, waiting);
  RawConnection next{served.port};
  next.send(ask_quick);
  const auto refused = next.receive();
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("retry-after") == "1");
  CHECK(served.counts().queue_full == 1);
  next.send(ask_health);
  CHECK(next.receive().body == "health");

  served.let_go();
  CHECK(slow.receive().body == "slow");
  for (RawConnection& one : waiting) CHECK(one.receive().body == "quick");
  next.send(ask_quick);
  CHECK(next.receive().body == "quick");
}

TEST_CASE("requests without a token take no place from requests with a token") {
  HttpServer::Limits limits;
  limits.queue = 2;
  Served served{limits};
  RawConnection slow{served.port};
  std::list<RawConnection> without;
  fill_queue(served, slow, without);
  RawConnection operator_{served.port};
  operator_.send(ask_with_token);
  wait_until("it waits, too", [&] { return served.counts().waiting == 3; });
  served.let_go();
  CHECK(operator_.receive().body == "token");
}

TEST_CASE("a request leaves the queue when its connection ends") {
  HttpServer::Limits limits;
  limits.queue = 2;
  Served served{limits};
  RawConnection slow{served.port};
  slow.send(ask_slow);
  wait_until("the lane runs it", [&] { return served.begun.load(); });
  for (int i = 0; i < 5; ++i) {
    {
      RawConnection one{served.port};
      one.send(ask_quick);
      wait_until("it waits", [&] { return served.counts().waiting == 1; });
    }
    wait_until("the queue is empty", [&] { return served.counts().waiting == 0; });
  }
  CHECK(served.counts().queue_full == 0);
}

TEST_CASE("a request leaves the queue when its time is over") {
  HttpServer::Limits limits;
  limits.answer = milliseconds{200};
  Served served{limits};
  RawConnection slow{served.port};
  slow.send(ask_slow);
  wait_until("the lane runs it", [&] { return served.begun.load(); });
  RawConnection late{served.port};
  late.send(ask_quick);
  CHECK(late.receive().status == 503);
  wait_until("the queue is empty", [&] { return served.counts().waiting == 0; });
}
