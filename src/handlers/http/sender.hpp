#pragma once
#include <curl/curl.h>

#include <chrono>
#include <inboxd/handler.hpp>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../shared/call_queue.hpp"
#include "../shared/away_notice.hpp"
#include "exchange.hpp"
#include "health.hpp"
#include "request.hpp"
#include "target.hpp"

namespace http_handler {

/// A thread with all requests of a handler in flight, by curl's multi interface.
class Sender final {
 public:
  Sender(const Target& target, inboxd::Log log);
  /// No call may be open.
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Takes on a call. Any thread.
  void send(std::unique_ptr<inboxd::OpenCall> call);

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    std::unique_ptr<Request> request;
    std::unique_ptr<Exchange> exchange;
  };
  void run();
  bool take_on();
  void begin(std::unique_ptr<inboxd::OpenCall> call);
  std::unique_ptr<Request> spare_request();
  void keep_connections(std::size_t requests);
  void go_on(Running running);
  void end_finished();
  void end_cancelled();
  void note(const inboxd::Outcome& outcome);
  void note_doubt(const Answer& answer);
  void look_after_health();
  void forget(Running& running);

  const Target& target_;
  const inboxd::Log log_;
  const std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi_;

  handlers::CallQueue new_calls_;

  // The thread's own.
  std::unordered_map<Request*, Running> running_;
  std::vector<std::unique_ptr<Request>> spare_;
  std::size_t max_requests_ = 0;  ///< at once, since the start
  Resets resets_;
  Health health_;
  std::unique_ptr<Request> health_request_;  ///< null: none is running
  Clock::time_point next_look_{};
  handlers::AwayNotice away_;
  Clock::time_point next_doubt_log_{};

  std::thread thread_;
};

}  // namespace http_handler
