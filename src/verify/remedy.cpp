// The command for each rule.
#include <map>

#include "config/units.hpp"
#include "verify/report.hpp"

namespace inboxd::verify {
namespace {

std::string place_of(const Contradiction& found) {
  return found.topic + "/" + std::to_string(found.partition.value_or(0)) + "/" +
         std::to_string(found.offset.value_or(0));
}

/// The event on a command line: its id, else its place.
std::string event_of(const Contradiction& found) { return found.event_id.empty() ? place_of(found) : found.event_id; }

std::string seek_to(const Contradiction& found) {
  return "inboxd partitions seek " + found.topic + " " + std::to_string(found.partition.value_or(0)) + " --to " +
         std::to_string(found.offset.value_or(0));
}

/// No command: to store the record again could run handlers again.
std::string restore_row(const Contradiction& found) {
  return "restore the event's row from a backup; inboxd events trace " + event_of(found) + " has its calls";
}

std::string trace(const Contradiction& found) {
  return "inboxd events trace " + event_of(found) + "; no command undoes a call";
}

std::string backfill(const Contradiction& found) {
  const auto at = found.received_at.value_or(0);
  return "inboxd handlers backfill " + found.handler + " --from " + config::time_text(at) + " --to " +
         config::time_text(at + 1);
}

std::string end_one_state(const Contradiction& found) {
  const std::string of_handler = event_of(found) + " --handler " + found.handler;
  if (found.detail == "done twice") return trace(found);
  if (found.detail == "pending, and done") {
    return "inboxd events skip " + of_handler + " --reason 'done before'";
  }
  return "inboxd dead discard " + of_handler;
}

std::string skip_one(const Contradiction& found) {
  return "inboxd events skip " + event_of(found) + " --handler " + found.handler + " --reason 'pending twice'";
}

std::string restart_owner(const Contradiction&) { return "restart the daemon that owns the lease"; }

/// The detail ends with handler, sequence and lane.
std::string advance(const Contradiction& found) {
  if (found.detail.starts_with("leased")) return restart_owner(found);
  const auto colon = found.detail.rfind(": ");
  std::string ids = colon == std::string::npos ? "" : found.detail.substr(colon + 2);
  for (auto comma = ids.find(", "); comma != std::string::npos; comma = ids.find(", ", comma + 10)) {
    ids.replace(comma, 2, "], array[");
  }
  return "in psql: select inbox.advance_lanes(array[" + ids + "])";
}

std::string show(const Contradiction& found) {
  return "restore the event's row from a backup; inboxd events show " + place_of(found) + " names its handlers";
}

using Remedy = std::string (*)(const Contradiction&);

/// Rules of which a command mends the cause.
const std::map<std::string, Remedy>& remedies() {
  static const std::map<std::string, Remedy> out{
      {"missing_state", backfill},
      {"two_states", end_one_state},
      {"pending_twice", skip_one},
      {"pending_without_event", show},
      {"lanes", advance},
      {"id_without_event", restore_row},
      {"stored_twice", trace},
      {"two_events", trace},
      {"positions", seek_to},
      {"missing_record", seek_to},
      {"different_content", show},
      {"parked",
       [](const Contradiction& found) {
         return "inboxd dead replay " + event_of(found) + " --handler " + found.handler;
       }},
      {"leases", restart_owner},
      {"outbox", [](const Contradiction&) -> std::string { return "restart the daemon that sends the outbox"; }},
      {"not_in_quarantine", seek_to},
  };
  return out;
}

}  // namespace

std::string remedy_for(const Contradiction& contradiction) {
  const auto found = remedies().find(contradiction.rule);
  if (found != remedies().end()) return found->second(contradiction);
  return "correct the row in psql: it comes from no statement of inboxd";
}

}  // namespace inboxd::verify
