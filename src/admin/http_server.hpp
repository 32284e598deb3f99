#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "admin/http_lane.hpp"
#include "admin/http_message.hpp"
#include "admin/listener.hpp"
#include "admin/stream.hpp"
#include "admin/tls.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"

namespace inboxd::admin {

/// A request that another thread answers. `nobody_waits` becomes true when its client has gone.
struct Ticket {
  std::uint64_t connection = 0;
  NobodyWaits nobody_waits;
};
/// Work outside of the lanes: `begin` is called on the server's thread, must not block, and has the ticket answered by
/// HttpServer::finish.
struct LaterWork {
  std::function<void(Ticket ticket)> begin;
};

/// A small HTTP/1.1 server. One thread owns all sockets and never blocks; each lane has a thread for slow work. Limits
/// apply to connections, headers, bodies, waiting requests and the time of each step. If all connections are taken, a
/// new one closes the one that has been quiet for longest, so that slow clients keep no other out. Construct → start()
/// → request_stop() → join().
class HttpServer final {
 public:
  struct Limits {
    RequestReader::Limits request;
    std::size_t connections = 64;
    std::size_t queue = 16;                    ///< requests that wait for a lane; one more gets 503
    std::chrono::milliseconds receive{5'000};  ///< from a request's first byte, or the connection's start
    std::chrono::milliseconds answer{30'000};  ///< for the work, then again for sending
    std::chrono::milliseconds idle{60'000};
    /// Bytes of answers that clients have not read yet. Above it lanes refuse new work.
    std::size_t unsent = 64 << 20;
    std::string thread = "admin";
    bool gives_way = true;      ///< runs at a lower priority
    bool may_repeat = false;    ///< a request without an answer may be sent again: 503 with Retry-After
  };
  /// Answers a request at once, or returns work for a lane or for another thread. May take the request's contents.
  using Outcome = std::variant<HttpResponse, LaneWork, LaterWork>;
  using Respond = std::function<Outcome(HttpRequest&)>;
  using Answers = std::vector<std::pair<Ticket, HttpResponse>>;
  /// The answer that a request really got; null: its client left before.
  struct Answer {
    const std::string& path;
    std::size_t body_bytes;
    const Peer& peer;
    const HttpResponse* response;
  };
  using Answered = std::function<void(const Answer&)>;
  /// Since the start; any thread reads.
  struct Counts {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> unauthorised{0};    ///< answered with 401: a wrong token or none
    std::atomic<std::uint64_t> forbidden{0};       ///< with 403: the address, the token or its role is not allowed
    std::atomic<std::uint64_t> other_refusals{0};  ///< with another 4xx
    std::atomic<std::uint64_t> queue_full{0};      ///< with 503: too many requests waited
    std::atomic<std::uint64_t> malformed{0};       ///< requests that could not be read, or were late
    std::atomic<std::uint64_t> evicted{0};         ///< closed for a new connection
    std::atomic<std::int64_t> open{0};
    std::atomic<std::int64_t> waiting{0};  ///< requests in the lanes' queues
  };

  /// `respond` and `answered` are called on the server's thread and must not block. `lanes` are the names of the
  /// working threads.
  HttpServer(Limits limits, std::vector<std::string> lanes, Respond respond, base::Logger& log,
             Answered answered = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Takes over the listeners and starts the threads. `tls`: for ports, not for Unix sockets; null: none.
  void start(std::vector<Listener> listeners, std::unique_ptr<Tls> tls = nullptr);
  /// Tells running work that its client has gone.
  void request_stop();
  void join();
  /// Answers requests of LaterWork. Any thread.
  void finish(Answers answers);
  const Counts& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    enum class State {
      receiving,  ///< a request, or waiting for one
      working,    ///< a lane has it
      sending,
      closing,  ///< after the last answer: reads on, so that the client gets the answer
    };
    void change(State to);

    Stream stream;
    Peer peer;
    std::string path;            ///< of the last request
    std::size_t body_bytes = 0;  ///< likewise
    RequestReader reader;
    State state = State::receiving;
    Clock::time_point deadline;
    Clock::time_point heard;  ///< the time of the last complete request
    std::string out;
    std::size_t sent = 0;   ///< bytes of `out`
    bool is_timed = false;  ///< the deadline is that of a request in arrival
    bool keep_alive = true;
    bool without_body = false;
    Lane* lane = nullptr;  ///< that works for it
    NobodyWaits nobody_waits;
  };
  /// The result of a lane. The connection may have reached its next request meanwhile: `nobody_waits` identifies the
  /// answered one.
  struct Finished {
    std::uint64_t id;
    NobodyWaits nobody_waits;
    HttpResponse response;
  };
  using Connections = std::map<std::uint64_t, std::unique_ptr<Connection>>;

  void run();
  int hang_up() const;
  void turn();
  void accept_from(const Listener& listener);
  void make_room();
  void serve(std::uint64_t id, Connection& connection, short events);
  void receive(std::uint64_t id, Connection& connection);
  void next_request(std::uint64_t id, Connection& connection);
  Outcome outcome_for(HttpRequest& request);
  NobodyWaits begin_work(Connection& connection);
  void hand_over(std::uint64_t id, Connection& connection, LaneWork work);
  void answer(std::uint64_t id, Connection& connection, const HttpResponse& response);
  void answer_unread(std::uint64_t id, Connection& connection, const HttpResponse& response);
  void send_out(std::uint64_t id, Connection& connection);
  void sent(std::uint64_t id, Connection& connection);
  HttpResponse work_for(const LaneWork& asked, const std::atomic<bool>& nobody_waits);
  static void close(Connection& connection);
  void take_finished();
  void count();
  void end_late(Clock::time_point now);
  void note(const Connection& connection, const HttpResponse* response) const;
  void leave(Connection& connection);
  static void abandon(Connection& connection);
  void drop(std::uint64_t id);

  const Limits limits_;
  const Respond respond_;
  base::Logger& log_;
  const Answered answered_;
  Counts counts_;
  Wake wake_;
  std::vector<Listener> listeners_;
  std::unique_ptr<Tls> tls_;
  Connections connections_;          ///< used by the server's thread only, like the following
  std::vector<std::uint64_t> gone_;  ///< closed in this turn of the loop
  std::uint64_t next_id_ = 1;
  Clock::time_point accept_again_{};  ///< set when the process ran out of descriptors
  std::atomic<bool> stopping_{false};

  base::Mutex mutex_;
  std::vector<Finished> finished_ GUARDED_BY(mutex_);
  std::size_t unsent_ GUARDED_BY(mutex_) = 0;  ///< bytes of all answers, those in finished_ included

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::thread thread_;
};

}  // namespace inboxd::admin
