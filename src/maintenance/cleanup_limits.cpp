// The limits of dead letters and quarantine in bytes.
#include "config/units.hpp"
#include "inbox/stored_bytes.hpp"
#include "maintenance/cleanup.hpp"

namespace inboxd::maintenance {
namespace {

constexpr std::int64_t warned_from(std::int64_t limit) { return limit / 10 * 8; }

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
    full_ = full_text("quarantined records", found.quarantine, "retention.quarantine_bytes", limits.quarantine_bytes) +
            "; discard or retry some: inboxd quarantine list";
  }
  if (found.dead_letters >= warned_from(limits.dead_letter_bytes)) {
    full_ = full_text("dead letters", found.dead_letters, "retention.dead_letter_bytes", limits.dead_letter_bytes) +
            "; replay or discard some: inboxd dead list";
  }
  if (!full_) return;
  if (full_log_.is_news("full")) log_.error("maintenance.nearly_full", {{"what", *full_}});
  if (found.dead_letters >= limits.dead_letter_bytes) {
    for (const std::string& name : inbox::pause_at_limit(connection_, *full_)) {
      log_.error("maintenance.paused_at_limit", {{"handler", name}, {"reason", *full_}});
    }
  }
}

}  // namespace inboxd::maintenance
