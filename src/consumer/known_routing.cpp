#include "consumer/known_routing.hpp"

#include <utility>

namespace inboxd::consumer {

bool KnownRouting::know() {
  if (routing_.version != 0) return true;
  auto routing = inbox::read_routing(connection_);
  // After it: what is put back between the two makes it another version, which the transaction finds out.
  const bool knows_ours = inbox::are_registered(connection_, registrations_.get());
  const auto verdict = set_back_.judge({routing.version, registrations_.note_version(routing.version), knows_ours},
                                       SetBack::Clock::now());
  tell(verdict);
  if (verdict == SetBack::Verdict::behind) return false;
  routing_ = std::move(routing);
  return true;
}

void KnownRouting::tell(SetBack::Verdict verdict) {
  const bool was_told = std::exchange(is_told_, verdict == SetBack::Verdict::behind);
  if (verdict == SetBack::Verdict::not_put_back) {
    log_.error(
        "ingest: nobody has put back what the database has forgotten of handlers; what comes now is not owed by it");
  } else if (is_told_ && !was_told) {
    log_.warn(
        "ingest: the database was set back behind what is known of handlers; nothing is stored until that is put "
        "back");
  } else if (was_told && !is_told_) {
    log_.info("ingest: the database knows the handlers again; going on");
  }
}

}  // namespace inboxd::consumer
