#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "inbox/operations.hpp"

namespace inboxd::inbox {

/// An event that a handler gave up on.
struct DeadLetter {
  std::int64_t dead_letter_id = 0;
  std::string handler;
  std::string state;                           ///< dead, expired, parked
  std::int32_t attempts = 0;
  event::Microseconds died_at = 0;
  std::string error_class;                     ///< of the last attempt
  std::string message;
  std::optional<std::string> reasons;          ///< JSON, every attempt; only where the whole was asked for
  std::optional<std::string> notes;
  StoredEvent event;
};

/// Which dead letters. Everything that is given must match.
struct DeadFilter {
  std::optional<std::string> handler;          ///< its name or an alias
  std::vector<std::string> types;              ///< exact or prefix*; empty = all
  std::vector<std::string> error_classes;      ///< of the last attempt, the same
  std::optional<std::string> message;          ///< somewhere in the last attempt's message, either case
  Period died;
  std::vector<std::int64_t> dead_letter_ids;   ///< these, or those of event_ids; both empty: any
  std::vector<base::Uuid> event_ids;
};

/// The newest, without payloads. Ids are not looked at.
std::vector<DeadLetter> list_dead(Connection& connection, const DeadFilter& filter, std::int64_t limit);

/// Whole ones, by id.
std::vector<DeadLetter> find_dead(Connection& connection, const std::vector<std::int64_t>& dead_letter_ids,
                                  const std::vector<base::Uuid>& event_ids);

/// How many there are of a handler and class of error.
struct DeadGroup {
  std::string handler;
  std::string error_class;
  std::int64_t letters = 0;
  event::Microseconds first_died_at = 0;
  event::Microseconds last_died_at = 0;
};
std::vector<DeadGroup> group_dead(Connection& connection, const DeadFilter& filter);

struct PickedLetter {
  std::int64_t dead_letter_id = 0;
  std::string handler;
  std::string error_class;
};

/// The dead letters that a replay or discard is about, in the order in which their shards have the events. Those that
/// cannot be replayed (now) only where asked for.
std::vector<PickedLetter> pick_dead(Connection& connection, const DeadFilter& filter, bool any_too,
                                    std::int64_t limit);

/// How many cannot be replayed.
struct NotNow {
  std::int64_t retired = 0;                    ///< the handler is: nobody would take them back
  std::int64_t awaited = 0;                    ///< their handler's back-fill has yet to come by, and may owe the events
};
NotNow count_dead_not_now(Connection& connection, const DeadFilter& filter);

/// Who asked for what: for the audit.
struct Deed {
  std::string actor;
  std::string asked;
};

struct Replayed {
  std::int64_t letters = 0;                    ///< put back; those that somebody else took meanwhile are missing
  std::int64_t restored = 0;                   ///< events that had been purged and are there again
};

/// Puts a bite of dead letters back into their handlers' work, in one transaction; a few hundred at a time. May run
/// again after any error.
Replayed replay_dead(Connection& connection, const std::vector<std::int64_t>& dead_letter_ids, const Deed& deed);

/// Removes a bite of dead letters for good; returns how many were there.
std::int64_t discard_dead(Connection& connection, const std::vector<std::int64_t>& dead_letter_ids, const Deed& deed);

}  // namespace inboxd::inbox
