#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "inbox/handler_hold.hpp"

namespace inboxd::dispatcher {

/// Whether a handler runs here, as the database and its own failures say.
///
///   open --fuse blows, or a rule says pause--> held
///                                              |  ^
///          the database gives it the trial     v  | the event fails
///                                             trial --the event is done--> open
///
/// The database may say any of the three at any time: another instance, or an operator, changed it. A change that
/// begins here is news for the database. Until the database has the news, its state is out of date.
/// Bookkeeping without a lock.
class Hold final {
 public:
  using State = inbox::HandlerHold::State;

  /// `failures` in a row blow the fuse; 0: none.
  void configure(int failures) { max_failures_ = failures; }
  State state() const { return state_; }
  /// Some that count towards the fuse.
  bool has_failures() const { return failures_ > 0; }

  /// The state in the database, as long as no news waits.
  void read(State state) {
    if (news_ || state == state_) return;
    change(state);
  }

  /// Recorded outcomes, with the class of the last error: they end a trial.
  void recorded(std::int64_t done, std::int64_t failed, const std::string& error_class) {
    if (state_ != State::trial || !is_tried_) return;  // of calls from before the pause
    if (done > 0) return report({Kind::closed, ""}, State::open);
    if (failed > 0) return report({Kind::blown, trial_failed + error_class}, State::held);
    put_back();  // deferred: another event is tried
  }

  /// Verdicts of a call that has ended: they blow the fuse before their outcomes are recorded. Verdicts of a
  /// transaction that is repeated count twice.
  void called(std::int64_t done, std::int64_t failed, const std::string& error_class) {
    failures_ = done > 0 ? 0 : failures_ + failed;
    if (state_ != State::open || max_failures_ == 0 || failures_ < max_failures_) return;
    report({Kind::blown, std::to_string(failures_) + " failures in a row, the last: " + error_class}, State::held);
  }

  /// A verdict or a rule of the handler says so.
  void pause(const std::string& reason) {
    if (state_ == State::open) return report({Kind::paused, reason}, State::held);
    if (state_ == State::trial) report({Kind::blown, trial_failed + reason}, State::held);
  }

  /// A worker takes the event that is tried.
  void take_trial() { is_tried_ = true; }
  bool is_tried() const { return is_tried_; }
  /// It came back without an outcome.
  void put_back() { is_tried_ = false; }

  const std::optional<inbox::HoldNews>& news() const { return news_; }
  /// Newer news stays.
  void written(const inbox::HoldNews& news) {
    if (news_ == news) news_.reset();
  }

 private:
  using Kind = inbox::HoldNews::Kind;
  static constexpr const char* trial_failed = "the event that it tried has failed: ";

  void report(inbox::HoldNews news, State state) {
    news_ = std::move(news);
    change(state);
  }
  void change(State state) {
    state_ = state;
    failures_ = 0;
    is_tried_ = false;
  }

  int max_failures_ = 0;
  State state_ = State::open;
  std::int64_t failures_ = 0;
  bool is_tried_ = false;
  std::optional<inbox::HoldNews> news_;
};

}  // namespace inboxd::dispatcher
