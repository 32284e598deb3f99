#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "admin/http_lane.hpp"
#include "admin/http_message.hpp"
#include "admin/listener.hpp"
#include "base/log.hpp"
#include "base/result.hpp"

namespace inboxd::admin {

/// A small HTTP/1.1 server. One thread owns all sockets and never waits for anybody; what takes time is done by one
/// thread for each lane. Everything is bounded: connections, headers, bodies, and the time for each step. Where all
/// connections are taken, a new one ends the one that has said nothing for longest, so that slow clients keep nobody
/// out. Construct → start() → request_stop() → join().
class HttpServer final {
 public:
  struct Limits {
    RequestReader::Limits request;
    std::size_t connections = 64;
    std::chrono::milliseconds receive{5'000};  ///< from a request's first byte, or the connection's beginning
    std::chrono::milliseconds answer{30'000};  ///< for the work, then again for sending
    std::chrono::milliseconds idle{60'000};
    /// Bytes of answers that their clients have yet to take: above it lanes begin nothing, and say so.
    std::size_t unsent = 64 << 20;
  };
  /// What becomes of a request: an answer at once, or work for a lane.
  using Respond = std::function<std::variant<HttpResponse, LaneWork>(const HttpRequest&)>;
  /// Since the start; any thread reads.
  struct Counts {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> unauthorised{0};    ///< answered with 401: a wrong token, or none
    std::atomic<std::uint64_t> forbidden{0};       ///< with 403: not from there, not without a token, not by this role
    std::atomic<std::uint64_t> other_refusals{0};  ///< with another 4xx
    std::atomic<std::uint64_t> evicted{0};  ///< ended to make room
    std::atomic<std::int64_t> open{0};
  };

  /// `respond` is called on the server's thread and must not block. `lanes` are the names of the working threads.
  HttpServer(Limits limits, std::vector<std::string> lanes, Respond respond, base::Logger& log);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Takes the listeners over and begins.
  void start(std::vector<Listener> listeners);
  /// Running work is told that nobody waits for it any more.
  void request_stop();
  void join();
  const Counts& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    enum class State {
      receiving,  ///< a request, or waits for one
      working,    ///< a lane has it
      sending,
      closing,  ///< said its last; reads what still comes, so that the client sees it
    };
    Socket socket;
    Peer peer;
    RequestReader reader;
    State state = State::receiving;
    Clock::time_point deadline;
    Clock::time_point heard;  ///< when it last said something whole
    std::string out;
    std::size_t sent = 0;   ///< bytes of it
    bool is_timed = false;  ///< the deadline of the request that is being received is set
    bool keep_alive = true;
    bool without_body = false;
    std::shared_ptr<std::atomic<bool>> nobody_waits;
  };
  /// What a lane has to say. A connection may have gone on to its next request meanwhile: `nobody_waits` is the one of
  /// the request that this answers.
  struct Finished {
    std::uint64_t id;
    std::shared_ptr<std::atomic<bool>> nobody_waits;
    HttpResponse response;
  };
  using Connections = std::map<std::uint64_t, std::unique_ptr<Connection>>;

  void run();
  void turn();
  void accept_from(const Listener& listener);
  void make_room();
  void serve(std::uint64_t id, Connection& connection, short events);
  void receive(std::uint64_t id, Connection& connection);
  void next_request(std::uint64_t id, Connection& connection);
  void answer(std::uint64_t id, Connection& connection, const HttpResponse& response);
  void send_out(std::uint64_t id, Connection& connection);
  void sent(std::uint64_t id, Connection& connection);
  HttpResponse work_for(const LaneWork& asked, const std::atomic<bool>& nobody_waits);
  void take_finished();
  void count_unsent();
  void end_late(Clock::time_point now);
  void drop(std::uint64_t id);

  const Limits limits_;
  const Respond respond_;
  base::Logger& log_;
  Counts counts_;
  Wake wake_;
  std::vector<Listener> listeners_;
  Connections connections_;          ///< the thread's own
  std::vector<std::uint64_t> gone_;  ///< of this turn
  std::uint64_t next_id_ = 1;
  Clock::time_point accept_again_{};  ///< after the process ran out of descriptors
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;  // guards the following
  std::vector<Finished> finished_;
  std::size_t unsent_ = 0;  ///< bytes of all answers, those in finished_ included

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::thread thread_;
};

}  // namespace inboxd::admin
