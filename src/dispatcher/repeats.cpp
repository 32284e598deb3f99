// Transactions that did not get through: when they run again, and whom they are charged to at last.
#include <algorithm>
#include <string>
#include <thread>

#include "dispatcher/worker.hpp"

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds last_wait{5'000};
constexpr milliseconds wait_step{20};

Why why_of(const inbox::SqlError& error, Why where_lost) {
  if (error.sqlstate == inbox::lost_connection) return where_lost;
  if (error.sqlstate == inbox::disk_full) return Why::no_event;
  return error.sqlstate == inbox::out_of_memory ? Why::short_of : Why::ended;
}

}  // namespace

void Worker::note_why(const std::optional<inbox::SqlError>& error, Why where_lost) {
  repeat_because_ = error.value_or(inbox::error_with(inbox::lost_connection, ""));
  why_ = why_of(repeat_because_, where_lost);
}

/// False where the daemon stops meanwhile.
bool Worker::wait_after(const InVain& tries) {
  ++share_->in_hand->call_counts().repeated;
  if (why_ == Why::no_event) {
    const inbox::DatabaseFailure failure{inbox::fault_of(repeat_because_.sqlstate), repeat_because_.sqlstate,
                                         repeat_because_.message};
    return wait_about(trouble_.failed(failure, Clock::now()));
  }
  if (tries.said() != InVain::Said::no) {
    const bool aloud = tries.said() == InVain::Said::aloud;
    share_->log->write(
        aloud ? base::LogLevel::warn : base::LogLevel::debug,
        "dispatcher: a handler's transaction runs again, uncharged",
        {{"handler", share_->handler}, {"sqlstate", repeat_because_.sqlstate}, {"message", repeat_because_.message}});
  }
  return wait_about(tries.wait());
}

/// With jitter; false where the daemon stops meanwhile.
bool Worker::wait_about(milliseconds wait) {
  const auto jitter = std::chrono::duration_cast<milliseconds>(wait * settler::random01());
  const auto until = Clock::now() + std::min(wait + jitter, last_wait);
  while (Clock::now() < until) {
    if (share_->stop) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(wait_step, until - Clock::now()));
  }
  return !share_->stop;
}

/// The event that was alone and did not get through. What it did to the server may still keep that from being recorded.
Worker::GroupEnd Worker::charge_culprit() {
  inbox::SqlError error = repeat_because_;
  if (why_ == Why::in_statement) error.message = "the connection broke each time its statement ran: " + error.message;
  if (why_ == Why::cut_off) error.message = "the server did not end its statement at the deadline: " + error.message;
  if (why_ == Why::in_commit) error.message = "the connection broke each time at its COMMIT: " + error.message;
  for (InVain tries;;) {
    const GroupEnd end = charge(error);
    if (end != GroupEnd::repeat) return end;
    if (why_ == Why::ended) return GroupEnd::split;
    tries.note(why_);
    if (!wait_after(tries)) return GroupEnd::given_up;
  }
}

/// The next event of the chunk has failed, this time: its failure is recorded, and nothing that it wrote.
Worker::GroupEnd Worker::charge(const inbox::SqlError& error) {
  {
    const std::lock_guard lock{mutex_};
    if (abandoned_) return GroupEnd::given_up;
    chunk_.rewind();
    if (!chunk_.begin_call(1)) return GroupEnd::nothing;
    chunk_.fail_call({settler::Verdict::Kind::retry, std::nullopt, "sql." + error.sqlstate, error.message},
                     milliseconds{0});
  }
  return commit(0);
}

}  // namespace inboxd::dispatcher
