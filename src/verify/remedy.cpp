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

/// A row that is there several times is left once.
std::string delete_copies(const Contradiction& found) {
  return "in psql: delete from inbox.event where (tableoid, ctid) in (select tableoid, ctid from (select tableoid, "
         "ctid, row_number() over () as n from inbox.event where event_id = '" +
         found.event_id + "' and shard_id = (select shard_id from inbox.ledger where event_id = '" + found.event_id +
         "')) x where n > 1)";
}

/// Puts messages that no relay reaches at the end of the outbox. The detail has the message's number first.
std::string send_again(const Contradiction& found) {
  const std::string number = found.detail.substr(0, found.detail.find(':')).substr(std::string{"message "}.size());
  if (found.detail.ends_with("at once")) return "in psql: delete from inbox.outbox_waiting where outbox_id = " + number;
  const bool waits = found.detail.ends_with("does not exist");
  const std::string columns = "message_id, topic, key, payload, headers, published_at";
  return "in psql: with lost as (delete from inbox.outbox" + std::string{waits ? "_waiting" : ""} +
         " where outbox_id = " + number + " returning " + columns + ") insert into inbox.outbox (" + columns +
         ") select " + columns + " from lost";
}

std::string trace(const Contradiction& found) {
  return "inboxd events trace " + event_of(found) + "; no command undoes a call";
}

std::string backfill(const Contradiction& found) {
  const auto at = found.received_at.value_or(0);
  return "inboxd handlers backfill " + found.handler + " --from " + config::time_text(at) + " --to " +
         config::time_text(at + 1) + (found.detail.empty() ? "" : " --again");
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
      {"two_events",
       [](const Contradiction& found) {
         return found.detail.starts_with("its row") ? delete_copies(found) : trace(found);
       }},
      {"positions", seek_to},
      {"missing_record", seek_to},
      {"different_content", show},
      {"parked",
       [](const Contradiction& found) {
         return "inboxd dead replay " + event_of(found) + " --handler " + found.handler;
       }},
      {"leases", restart_owner},
      {"outbox", send_again},
      {"event_without_id", [](const Contradiction&) { return std::string{}; }},  // DatabaseRules has its statement
      {"pending_counts",
       [](const Contradiction& found) {
         return "in psql: update inbox.delivery set events = inbox.count_of(pending) where delivery_id = " +
                found.detail.substr(0, found.detail.find(':'));
       }},
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
