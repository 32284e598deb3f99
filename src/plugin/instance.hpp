#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "event/event.hpp"
#include "event/verdict.hpp"
#include "inbox/claim.hpp"
#include "transaction/handler_sql.hpp"

namespace inboxd::plugin {

class PublishSpans;

/// An event as a handler gets it, with its coordinates and the number of this attempt (1 = first).
struct Delivered {
  const event::Event* event = nullptr;
  std::string_view topic;
  std::int32_t partition = 0;
  std::int32_t attempt = 1;
  bool has_content = true;             ///< payload and headers are here, not only in the database
  std::string_view traceparent = {};   ///< of the daemon's span of this attempt; empty: none
  config::Unwrap unwrap = config::Unwrap::automatic;  ///< of its topic
  PublishSpans* publishing = nullptr;  ///< of the call; null: not traced
  inbox::LeaseKey lease{};             ///< of the delivery that has the event
};

/// Tells a running call that its result is no longer wanted. Any thread sets it; the handler's reads it.
struct Cancellation {
  std::atomic<bool> requested{false};
};

/// The spans of a call in a transaction, until its outcome is known. Destroyed without `settled`: the call was undone.
/// The call's thread.
class PendingSpans {
 public:
  virtual ~PendingSpans() = default;
  /// The transaction is committed with these verdicts on the call's events.
  virtual void settled(std::span<const event::Verdict> verdicts) = 0;
};

/// A configured handler, made by a plugin. Several worker threads may call `handle` at once (the ABI says so);
/// everything else is called by a single thread at a time.
class Instance {
 public:
  virtual ~Instance() = default;

  /// Requirements from the plugin's table.
  struct Needs {
    bool sql = false;          ///< calls need a transaction: use handle_in
    bool no_payloads = false;  ///< events may come without payload and headers
    bool is_async = false;     ///< calls stay open: use start
  };
  virtual Needs needs() const { return {}; }

  /// A call: a verdict for each event, in their order. Blocks as long as the handler takes; never throws. `deadline` is
  /// the monotonic time by which the call should have ended. An event without a usable verdict gets a retry of class
  /// `no-verdict`, `bad-verdict`, `exception` or `cancelled`. The last: the call was cancelled or past its deadline
  /// before the handler reached the event; at shutdown that is no failure.
  virtual std::vector<event::Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
                                             std::chrono::steady_clock::time_point deadline) = 0;
  /// The call of an asynchronous handler, without blocking. `done` gets the verdicts once, from any thread, perhaps
  /// before `start` returns. Events and cancellation are borrowed until then.
  using Done = std::function<void(std::vector<event::Verdict>)>;
  virtual void start(std::span<const Delivered> events, const Cancellation& cancellation,
                     std::chrono::steady_clock::time_point deadline, Done done) {
    done(handle(events, cancellation, deadline));
  }

  /// The call of a handler that needs SQL. A traced instance sets `pending_spans`, which hears of the COMMIT.
  virtual std::vector<event::Verdict> handle_in(transaction::HandlerSql&, std::span<const Delivered> events,
                                                const Cancellation& cancellation,
                                                std::chrono::steady_clock::time_point deadline,
                                                std::unique_ptr<PendingSpans>& /*pending_spans*/) {
    return handle(events, cancellation, deadline);
  }
};

}  // namespace inboxd::plugin
