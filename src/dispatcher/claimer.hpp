#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/log.hpp"
#include "dispatcher/claiming_handler.hpp"
#include "dispatcher/database.hpp"
#include "dispatcher/low_water.hpp"
#include "dispatcher/suspects.hpp"
#include "settler/database_backoff.hpp"
#include "settler/settler.hpp"

namespace inboxd::dispatcher {

/// The thread that asks the database on behalf of all handlers. It renews and releases the leases of all handlers
/// first, then claims due deliveries where there is room. While the connection fails, all handlers wait; when the
/// database refuses a statement of one handler, that handler waits alone.
class Claimer final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    int rows_first = 16;  ///< rows that a claim looks at; doubled while that is too few
    int rows_most = 2'000;
    std::size_t keys_at_once = 500;  ///< of one renewal or release
    int rows_in_order = 64;          ///< of each sequence
    int rows_of_window = 5'000;      ///< of a batch handler; with group_by: key a row may have one event
    int lanes_at_once = 10'000;      ///< of one reading
    int checked_lanes = 500;         ///< blocked keys compared with the database at once
    std::size_t lost_claims = 100;   ///< remembered for each handler; the rows of any further ones count as crashed
    Suspects::Limits suspects;
    std::chrono::milliseconds reading{1'000};  ///< between readings of the low-water mark of an active handler
    std::chrono::milliseconds idle_reading{10'000};
    std::chrono::milliseconds clocks_apart{1'000};  ///< by which the database's clock may drift during a lost claim
    std::chrono::milliseconds turn{1'000};          ///< the longest sleep of the loop
    /// The statements of a claim together, and all renewals together, may take half of the shortest lease at stake, so
    /// that it is renewed in time; at least this long, however short the lease is.
    std::chrono::milliseconds shortest_deadline{1'000};
    settler::DatabaseBackoff::Limits backoff;
  };

  Claimer(AskDatabase ask_database, std::shared_ptr<ClaimerSignals> signals, ListHandlers list_handlers,
          settler::Settler& settler, base::Logger& log, Limits limits);
  ~Claimer();
  Claimer(const Claimer&) = delete;
  Claimer& operator=(const Claimer&) = delete;

  void start();
  /// The thread tries once to release the handlers' leases in the database, and ends. Claims end before, when the
  /// handlers are closed.
  void request_stop();
  void join();
  bool is_running() const { return thread_.joinable(); }
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  /// A handler's backoff for one kind of statement.
  struct Retry {
    settler::DatabaseBackoff backoff;
    Clock::time_point not_before{};
  };
  /// One handler's state between claims.
  struct HandlerState {
    Retry leases;
    Retry claims;
    Retry limits;
    int rows = 0;  ///< that the next claim looks at
    LowWater low_water{};
    Clock::time_point next_reading{};
    Clock::time_point last_renewal{};
    Clock::time_point next_take{};  ///< of sequences
    Clock::time_point next_look{};  ///< whether they are lost
    Clock::time_point last_sequence_renewal{};
    std::vector<inbox::SequenceKey> drained{};  ///< to release
    std::vector<inbox::LeaseKey> to_release{};
    std::vector<inbox::LeaseKey> to_skip{};
    std::vector<std::int64_t> lost_claims{};  ///< fences of claims without an answer
    Clock::time_point first_lost{};           ///< when the first of these claims was sent
  };

  void run();
  void serve(ClaimingHandlers handlers);
  void serve_isolated(const ClaimingHandlers& handlers);
  Clock::time_point next_turn(Clock::time_point now);
  HandlerState& state_of(const ClaimingHandler& handler);
  template <class Work>
  void attempt(Retry& retry, Work&& work);
  void limit_statements(const ClaimingHandlers& handlers);
  bool is_blocked() const { return Clock::now() < blocked_until_; }
  template <class Question>
  inbox::Answer<typename Question::Result> ask(Question question);
  bool worked(const inbox::DatabaseFailure* failure);
  template <class T>
  bool worked(const inbox::Answer<T>& answer) {
    return worked(std::get_if<inbox::DatabaseFailure>(&answer));
  }

  void maintain_all_leases(const ClaimingHandlers& handlers);
  bool maintain_leases(ClaimingHandler& handler, HandlerState& state);
  static Clock::time_point next_renewal(const ClaimingHandler& handler, const HandlerState& state);
  bool renew(ClaimingHandler& handler, HandlerState& state);
  bool renew(ClaimingHandler& handler, const std::vector<std::shared_ptr<settler::Run>>& runs,
             std::chrono::milliseconds lease);
  bool release_leases(ClaimingHandler& handler, HandlerState& state);
  bool release_claims(ClaimingHandler& handler, HandlerState& state);
  bool skip(HandlerState& state);

  void maintain_holds(const ClaimingHandlers& handlers);
  // handler_holds.cpp: pauses for all instances.
  bool write_hold_news(const ClaimingHandlers& handlers);
  bool read_holds(const ClaimingHandlers& handlers);

  void maintain_limits(const ClaimingHandlers& handlers);
  // handler_limits.cpp: limits for all instances.
  bool take_tokens(ClaimingHandler& handler);
  bool share_calls(ClaimingHandler& handler);
  bool release_calls(ClaimingHandler& handler);

  bool read_low_water(ClaimingHandler& handler, HandlerState& state);
  bool claim(ClaimingHandler& handler, HandlerState& state);
  void complete(Claim& claim, HandlerState& state, Clock::time_point now);

  // sequence_claims.cpp: handlers that keep order.
  bool maintain_sequences(ClaimingHandler& handler, HandlerState& state);
  bool renew_sequences(OrderedHandler& ordered, ClaimingHandler& handler, HandlerState& state);
  bool find_lost_sequences(OrderedHandler& ordered, ClaimingHandler& handler, HandlerState& state);
  bool take_sequences(OrderedHandler& ordered, ClaimingHandler& handler, HandlerState& state);
  bool read_lanes(OrderedHandler& ordered, ClaimingHandler& handler);
  bool check_lanes(OrderedHandler& ordered, ClaimingHandler& handler);
  bool turn_window(OrderedHandler& ordered, ClaimingHandler& handler);
  bool claim_in_order(ClaimingHandler& handler, HandlerState& state);
  void report_halved(const ClaimingHandler& handler, std::int32_t max_crashes,
                     const std::vector<inbox::LeasedRun>& runs);
  void note_lost_claim(HandlerState& state, std::int64_t fence, Clock::time_point asked);
  void remember_claim(HandlerState& state, std::int64_t fence, Clock::time_point asked);
  void adapt_rows(HandlerState& state, int asked, int locked, bool events_reached);

  const AskDatabase ask_database_;
  const std::shared_ptr<ClaimerSignals> signals_;
  const ListHandlers list_handlers_;
  base::Logger& log_;
  const Limits limits_;
  std::atomic<bool> stopping_{false};
  base::Heartbeat heartbeat_;

  // The thread's own.
  std::unordered_map<std::int32_t, HandlerState> states_;
  VisitLimit visit_limit_;
  int session_ = 0;
  settler::DatabaseBackoff backoff_;  ///< of the connection, for all handlers
  Clock::time_point blocked_until_{};
  std::optional<inbox::DatabaseFailure> refused_;  ///< the failure of the last statement for one handler
  Clock::time_point next_renewals_{};
  Retry holds_;
  Clock::time_point next_holds_{};
  Suspects suspects_;

  std::thread thread_;
};

template <class Question>
inbox::Answer<typename Question::Result> Claimer::ask(Question question) {
  Reply reply = ask_database_(Request{std::move(question)}, visit_limit_);
  if (auto* const failure = std::get_if<inbox::DatabaseFailure>(&reply.answer)) return std::move(*failure);
  if (session_ != reply.session) {
    session_ = reply.session;
    for (auto& [id, state] : states_) state.low_water = {};
  }
  return std::move(std::get<typename Question::Result>(reply.answer));
}

}  // namespace inboxd::dispatcher
