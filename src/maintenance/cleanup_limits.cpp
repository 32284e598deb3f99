// The limits of dead letters and quarantine in bytes.
#include "config/units.hpp"
#include "inbox/problem_text.hpp"
#include "inbox/stored_bytes.hpp"
#include "maintenance/cleanup.hpp"

namespace inboxd::maintenance {
namespace {

constexpr std::int64_t warned_from(std::int64_t limit) { return limit / 10 * 8; }

/// `dead letters take 9 MiB of retention.dead_letter_bytes, 10MiB`
std::string full_text(const char* what, std::int64_t bytes, const char* key, std::int64_t limit) {
  constexpr std::int64_t mebibyte = 1 << 20;
  return std::string{what} + " take " + std::to_string((bytes + mebibyte - 1) / mebibyte) + " MiB of " + key + ", " +
         config::size_text(limit);
}

}  // namespace

void Cleanup::check_limits() {
  const auto limits = retention();
  const auto found = inbox::stored_bytes(
      connection_, {warned_from(limits.dead_letter_bytes), warned_from(limits.quarantine_bytes)});
  full_.reset();
  quarantine_is_full_ = found.quarantine >= limits.quarantine_bytes;
  if (found.quarantine >= warned_from(limits.quarantine_bytes)) {
    full_ = inbox::text_of(
        {full_text("quarantined records", found.quarantine, "retention.quarantine_bytes", limits.quarantine_bytes),
         "inboxd quarantine list; then inboxd quarantine retry --topic TOPIC or inboxd quarantine discard --topic "
         "TOPIC; halted partitions then continue by themselves within a minute"});
  }
  if (found.dead_letters >= warned_from(limits.dead_letter_bytes)) {
    full_ = inbox::text_of(
        {full_text("dead letters", found.dead_letters, "retention.dead_letter_bytes", limits.dead_letter_bytes),
         "inboxd dead list --group-by handler; then inboxd dead replay --handler HANDLER or inboxd dead discard "
         "--handler HANDLER; paused handlers then resume by themselves within a minute"});
  }
  if (full_ && full_log_.is_news("full")) log_.error("maintenance.nearly_full", {{"what", *full_}});
  if (found.dead_letters < limits.dead_letter_bytes) {
    for (const std::string& name : inbox::resume_below_limit(connection_)) {
      log_.info("maintenance.resumed_below_limit", {{"handler", name}});
    }
    return;
  }
  const std::string reason = inbox::text_of(
      {"dead letters have reached retention.dead_letter_bytes, " + config::size_text(limits.dead_letter_bytes),
       "correct the cause (inboxd dead list --handler HANDLER --group-by error); then inboxd dead replay --handler "
       "HANDLER or inboxd dead discard --handler HANDLER: below the limit it resumes by itself within a minute, and "
       "after inboxd handlers resume HANDLER at once"});
  for (const std::string& name : inbox::pause_at_limit(connection_, reason)) {
    log_.error("maintenance.paused_at_limit", {{"handler", name}, {"reason", inbox::problem_of(reason).problem}});
  }
}

}  // namespace inboxd::maintenance
