#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "inbox/handler_limit.hpp"

/// A handler's limits over all instances, as this instance knows them: what the database has granted. Bookkeeping
/// without a lock.
namespace inboxd::dispatcher {

/// `rate`: tokens, a token for each event of a call.
///
/// Once they are used up and events wait, a tenth of a second's worth is asked for. The database saves up further
/// tokens meanwhile. Tokens that stay unused go stale.
class RateTokens final {
 public:
  using Clock = std::chrono::steady_clock;

  void configure(std::optional<double> per_second) { per_second_ = per_second; }
  bool is_on() const { return per_second_.has_value(); }
  double per_second() const { return *per_second_; }

  /// Events that may be taken now.
  std::int64_t allowed(Clock::time_point now) const {
    if (!per_second_) return std::numeric_limits<std::int64_t>::max();
    return now < good_until_ ? std::max<std::int64_t>(tokens_, 0) : 0;
  }
  /// Beyond what is allowed, it is a debt: a run in a transaction and the call of a window are not cut.
  void spend(std::int64_t events) {
    if (per_second_) tokens_ -= events;
  }
  /// Events came back without a call.
  void give_back(std::int64_t events) {
    if (per_second_) tokens_ += events;
  }

  /// The most events of a run that is not cut, and the most in memory.
  std::int64_t in_a_bite() const { return events_in(bite); }
  std::int64_t max_held() const { return events_in(held); }

  /// Events wait for tokens, until the next answer. True if the claimer must know.
  bool note_waiting() { return !std::exchange(is_waiting_, true); }
  bool is_waiting() const { return is_waiting_; }
  Clock::time_point next_ask() const { return is_on() && is_waiting_ ? not_before_ : Clock::time_point::max(); }
  /// How many to ask for. Begins the pause before the next question.
  std::int64_t ask(Clock::time_point now) {
    if (now >= good_until_) tokens_ = std::min<std::int64_t>(tokens_, 0);
    not_before_ = now + bite;
    asked_ = in_a_bite() - tokens_;
    return asked_;
  }
  void granted(const inbox::Tokens& grant, Clock::time_point asked) {
    is_waiting_ = false;
    if (!per_second_) return;
    tokens_ += grant.granted;
    const auto of_one = std::chrono::ceil<Clock::duration>(std::chrono::duration<double>{1 / *per_second_});
    if (grant.granted > 0) good_until_ = asked + std::max(stale, of_one);
    if (grant.granted == asked_) not_before_ = asked;
    if (grant.granted == 0) not_before_ = std::max(not_before_, asked + grant.wait);
  }

 private:
  static constexpr std::chrono::milliseconds bite{100};
  static constexpr std::chrono::milliseconds held{2'000};
  static constexpr Clock::duration stale = std::chrono::seconds{1};

  std::int64_t events_in(std::chrono::milliseconds time) const {
    return std::max<std::int64_t>(std::llround(*per_second_ * std::chrono::duration<double>{time}.count()), 1);
  }

  std::optional<double> per_second_;
  std::int64_t tokens_ = 0;
  std::int64_t asked_ = 0;
  bool is_waiting_ = false;
  Clock::time_point good_until_{};
  Clock::time_point not_before_{};
};

/// `max_in_flight`: the parallel calls that this instance may make, leased from the database.
class CallShare final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds lease{3'000};

  /// 0: no limit.
  void configure(int most) { most_ = most; }
  bool is_on() const { return most_ > 0; }

  bool may_begin(Clock::time_point now) const { return most_ == 0 || (running_ < limit_ && now < good_until_); }
  void begin() { ++running_; }
  int running() const { return running_; }
  void end() { --running_; }

  bool note_waiting() { return !std::exchange(is_waiting_, true); }
  bool is_waiting() const { return is_waiting_; }
  Clock::time_point next_ask() const {
    if (most_ == 0 && reported_ == 0) return Clock::time_point::max();
    const bool gives_back = reported_ > held();
    if (is_waiting_ || gives_back) return not_before_;
    return reported_ > 0 ? last_ask_ + renew_interval : Clock::time_point::max();
  }
  /// `idle`: workers that would call now if they might.
  inbox::CallsRequest ask(int idle, Clock::time_point now) {
    const int could_use = running_ + (is_waiting_ ? idle : 0);
    wanted_ = most_ == 0 ? 0 : std::max(could_use, wanted_ * 3 / 4);  // slowly down: the next events come soon
    if (wanted_ == 0) limit_ = 0;
    last_ask_ = now;
    not_before_ = now + pause;
    reported_ = held();
    return {std::max(most_, 1), wanted_, reported_, lease};
  }
  void granted(int limit, Clock::time_point asked) {
    is_waiting_ = false;
    if (limit >= wanted_) not_before_ = asked;
    limit_ = limit;
    reported_ = std::max(reported_, limit);
    good_until_ = asked + lease;
  }
  /// No call begins any more. nullopt: the database knows of none.
  std::optional<inbox::CallsRequest> release() {
    limit_ = wanted_ = 0;
    if (std::exchange(reported_, running_) == 0) return std::nullopt;
    return inbox::CallsRequest{std::max(most_, 1), 0, running_, lease};
  }

 private:
  static constexpr std::chrono::milliseconds renew_interval{500};
  static constexpr std::chrono::milliseconds pause{100};

  int held() const { return std::max(limit_, running_); }

  int most_ = 0;
  int limit_ = 0;     ///< granted
  int running_ = 0;   ///< workers with events, also workers left in a call
  int wanted_ = 0;    ///< as reported
  int reported_ = 0;  ///< as held, in the database
  bool is_waiting_ = false;
  Clock::time_point good_until_{};
  Clock::time_point last_ask_{};
  Clock::time_point not_before_{};
};

}  // namespace inboxd::dispatcher
