#pragma once
#include <chrono>
#include <functional>
#include <inboxd/handler.hpp>
#include <memory>
#include <string>
#include <unordered_map>

#include "answer.hpp"
#include "message.hpp"
#include "target.hpp"

namespace http_handler {

/// How often a connection was lost before an answer to an event came. An event that crashes the service would otherwise
/// stop all others for ever. Not thread-safe.
class Resets {
 public:
  /// Whether the event is to be charged from now on.
  bool note(const std::string& event_id);
  /// It was in a batch that met a reset: it is sent alone from now on.
  void suspect(const std::string& event_id);
  bool is_suspect(const std::string& event_id) const { return counts_.count(event_id) > 0; }
  void clear(const std::string& event_id) { counts_.erase(event_id); }

 private:
  std::unordered_map<std::string, int> counts_;
};

/// A call: its events as a batch, or one after another. Between two of its functions the request is on the wire. Not
/// thread-safe.
class Exchange final {
 public:
  Exchange(const Target& target, std::unique_ptr<inboxd::OpenCall> call, const Resets& resets);

  struct Next {
    std::string url;
    Message message;
  };
  /// The next request; nullopt: all events are settled or given up.
  std::optional<Next> next();
  /// The request has ended: settles its events. Returns what the answer means for the service.
  inboxd::Outcome ended(const Answer& answer, Resets& resets);

  /// No answer is wanted any more, although the deadline has not come: the daemon stops.
  bool is_cancelled() const;
  std::chrono::milliseconds time_left() const { return call_->call().time_left(); }
  /// Ends the call for these reasons.
  void give_up(const inboxd::Outcome& outcome) { call_->call().settle_rest(outcome); }

 private:
  bool has_one_url() const;
  bool is_without_suspects(const Resets& resets) const;
  inboxd::Outcome together_ended(const Answer& answer, Resets& resets);
  void settle(const inboxd::Event& event, const inboxd::Outcome& outcome);

  const Target& target_;
  std::unique_ptr<inboxd::OpenCall> call_;
  bool is_together_;    ///< all events in a single request
  std::size_t at_ = 0;  ///< the event to send next, unless all go together
};

}  // namespace http_handler
