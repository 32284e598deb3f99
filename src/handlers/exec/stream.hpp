#pragma once
#include <chrono>
#include <inboxd/handler.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../base/mutex.hpp"
#include "../shared/away_notice.hpp"
#include "child.hpp"
#include "program.hpp"

namespace exec_handler {

/// Children that live on: each gets events as lines and answers each with a line. A call has a child of its own;
/// between calls children wait in a pool. Any thread.
class Stream final {
 public:
  Stream(Program program, inboxd::Log log, handlers::AwayNotice& no_start)
      : program_{std::move(program)}, log_{log}, no_start_{no_start} {}

  /// The events of a call are written at once; answers may come in any order. If the child ends or writes something
  /// else, the first event without an answer is charged, and a new child gets the others. An end with status 0 is not
  /// charged after an answer, nor the first time in a call: a program may end by itself after a number of events. After
  /// several failures the handler waits, without a charge.
  void handle(inboxd::Call& call, const inboxd::Events& events);

 private:
  using Clock = std::chrono::steady_clock;
  struct Session {
    explicit Session(const Program& program) : child{program, {}} {}
    Child child;
    std::string output{};
    std::string errors{};
  };
  /// The events of a call without an answer.
  class Open;
  /// Why a child is of no further use.
  struct Failure {
    std::string error_class;
    std::string message;
    bool is_clean_end = false;  ///< the program ended with status 0
  };

  std::unique_ptr<Session> begin();
  std::unique_ptr<Session> take_idle();
  void put_back(std::unique_ptr<Session> session);
  std::optional<Failure> converse(Session& session, inboxd::Call& call, Open& open);
  std::optional<Failure> read_answers(Session& session, inboxd::Call& call, Open& open);
  void log_errors(Session& session) const;
  void note_failure();
  inboxd::Milliseconds wait_before_start();

  const Program program_;
  const inboxd::Log log_;
  handlers::AwayNotice& no_start_;  ///< of all programs

  inboxd::base::Mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_ GUARDED_BY(mutex_);
  int failures_ GUARDED_BY(mutex_) = 0;  ///< since the last complete call
  Clock::time_point next_start_ GUARDED_BY(mutex_){};
};

}  // namespace exec_handler
