#include "settler/trouble.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::settler {
namespace {

/// Doubling more often than this is beyond the longest wait.
constexpr int most_doublings = 16;

}  // namespace

Trouble::Trouble(std::string part, base::Logger& log, Limits limits, std::string about)
    : part_{std::move(part)}, about_{std::move(about)}, log_{log}, limits_{limits} {}

std::chrono::milliseconds Trouble::failed(const inbox::DatabaseFailure& failure,
                                          std::chrono::steady_clock::time_point now) {
  const auto grown = limits_.first * (1 << std::min(failures_, most_doublings));
  auto wait = std::min<std::chrono::milliseconds>(grown, limits_.last);
  if (failure.fault == inbox::Fault::stop || failure.fault == inbox::Fault::poison) wait = limits_.last;
  if (failures_ == 0 || failure.fault != last_fault_ || now >= log_again_) {
    log_failure(failure, wait);
    log_again_ = now + limits_.quiet;
  }
  last_fault_ = failure.fault;
  ++failures_;
  return wait;
}

void Trouble::worked() {
  if (failures_ > 0) log_.info(part_ + ": the database works again", {{"about", about_}, {"failures", failures_}});
  failures_ = 0;
}

void Trouble::log_failure(const inbox::DatabaseFailure& failure, std::chrono::milliseconds wait) {
  const bool needs_somebody = failure.fault == inbox::Fault::stop || failure.fault == inbox::Fault::poison;
  log_.write(needs_somebody ? base::LogLevel::error : base::LogLevel::warn,
             part_ + ": the database failed, trying again",
             {{"about", about_},
              {"fault", inbox::name_of(failure.fault)},
              {"sqlstate", failure.sqlstate},
              {"wait_ms", wait.count()},
              {"message", failure.message}});
}

}  // namespace inboxd::settler
