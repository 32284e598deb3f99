#include "settler/database_backoff.hpp"

#include <utility>

namespace inboxd::settler {

DatabaseBackoff::DatabaseBackoff(Part part, base::Logger& log, Limits limits, std::string about)
    : part_{part}, about_{std::move(about)}, log_{log}, limits_{limits}, waits_{limits.first, limits.last} {}

std::chrono::milliseconds DatabaseBackoff::failed(const inbox::DatabaseFailure& failure,
                                                  std::chrono::steady_clock::time_point now) {
  auto wait = waits_.next();
  if (failure.fault == inbox::Fault::stop || failure.fault == inbox::Fault::poison) wait = limits_.last;
  if (failures_ == 0 || failure.fault != last_fault_ || now >= log_again_) {
    log_failure(failure, wait);
    log_again_ = now + limits_.quiet;
  }
  last_fault_ = failure.fault;
  ++failures_;
  return wait;
}

void DatabaseBackoff::worked() {
  if (failures_ > 0) {
    log_.info(part_ == Part::settler ? "settler.database_recovered" : "dispatcher.database_recovered",
              {{"about", about_}, {"failures", failures_}});
  }
  failures_ = 0;
  waits_.reset();
}

void DatabaseBackoff::log_failure(const inbox::DatabaseFailure& failure, std::chrono::milliseconds wait) {
  const bool needs_operator = failure.fault == inbox::Fault::stop || failure.fault == inbox::Fault::poison;
  const base::Logger::Facts facts{{"about", about_},
                                  {"fault", inbox::name_of(failure.fault)},
                                  {"sqlstate", failure.sqlstate},
                                  {"wait_ms", wait.count()},
                                  {"error", failure.message}};
  if (needs_operator) {
    log_.error(part_ == Part::settler ? "settler.database_refused" : "dispatcher.database_refused", facts);
  } else {
    log_.warn(part_ == Part::settler ? "settler.database_failed" : "dispatcher.database_failed", facts);
  }
}

}  // namespace inboxd::settler
