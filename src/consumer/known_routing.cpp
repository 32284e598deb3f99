#include "consumer/known_routing.hpp"

#include <utility>

namespace inboxd::consumer {

bool KnownRouting::know() {
  const auto revision = registrations_.revision();
  if (routing_.version != 0 && judged_ == revision) return true;
  const auto newest = registrations_.newest();  // before the database is asked: others go on noting what it says
  auto routing = inbox::read_routing(connection_);
  // After it: what is put back between the two makes it another version, which the transaction finds out.
  const auto versions = inbox::read_handler_versions(connection_);
  const auto verdict = set_back_.judge(
      {inbox::knows(versions, registrations_.versions()), inbox::knows(versions, newest)}, SetBack::Clock::now());
  verdict == SetBack::Verdict::not_put_back ? registrations_.accept(versions) : registrations_.note(versions);
  tell(verdict);
  if (verdict == SetBack::Verdict::behind) return false;
  routing_ = std::move(routing);
  judged_ = revision;
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
    log_.info("ingest: handlers are waited for no longer; going on");
  }
}

}  // namespace inboxd::consumer
