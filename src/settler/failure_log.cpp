#include "settler/failure_log.hpp"

#include <utility>

namespace inboxd::settler {

bool FailureLog::Second::take() {
  const bool fits = lines < most_lines;
  ++(fits ? lines : left_out);
  return fits;
}

void FailureLog::begin_second(Clock::time_point now) {
  if (now - since_ < std::chrono::seconds{1}) return;
  since_ = now;
  const Second dead = std::exchange(dead_, {}), retried = std::exchange(retried_, {});
  if (dead.left_out > 0) log_.warn("settler: more events died than are told one by one", {{"events", dead.left_out}});
  if (retried.left_out > 0) {
    log_.debug("settler: more events are tried again than are told one by one", {{"events", retried.left_out}});
  }
}

void FailureLog::recorded(const Run& run, const inbox::Settlement& settlement, Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  begin_second(now);
  const inbox::Place& place = *run.lease.place;
  auto dead = settlement.dead.begin();  // in the order of their failures
  for (const inbox::FailedAttempt& failure : settlement.failures) {
    const bool died = dead != settlement.dead.end() && dead->event_id == failure.event_id;
    if (died && dead_.take()) {
      log_.warn("settler: an event is dead", {{"event_id", failure.event_id.text()},
                                              {"handler", run.handler},
                                              {"topic", place.topic},
                                              {"partition", place.partition},
                                              {"offset", dead->offset},
                                              {"attempts", failure.attempt},
                                              {"error_class", failure.error_class}});
    } else if (!died && retried_.take()) {
      log_.debug("settler: an event is tried again later", {{"event_id", failure.event_id.text()},
                                                            {"handler", run.handler},
                                                            {"topic", place.topic},
                                                            {"partition", place.partition},
                                                            {"attempt", failure.attempt},
                                                            {"error_class", failure.error_class}});
    }
    if (died) ++dead;
  }
}

}  // namespace inboxd::settler
