#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "operations/operation.hpp"
#include "operations/picked_rows.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

struct DeadLetter {
  std::int64_t dead_letter_id = 0;
  std::string handler;
  std::string state;  ///< dead, expired, parked
  event::Microseconds died_at = 0;
  Document document;  ///< as columns::dead_letter
  Document reasons;   ///< of every attempt
  StoredEvent event;  ///< whole
};

/// The place of a dead letter in a list: the newest first, then the highest number first.
struct DeadRank {
  event::Microseconds died_at = 0;
  std::int64_t dead_letter_id = 0;
};

/// Selects dead letters. Every given field must match.
struct DeadFilter {
  std::optional<std::string> handler;      ///< name or alias
  std::vector<std::string> types;          ///< exact or prefix*; empty = all
  std::vector<std::string> error_classes;  ///< of the last attempt; likewise
  std::optional<std::string> message;      ///< part of the last attempt's message, in any case
  Period died;
  std::optional<std::string> key;             ///< bytes
  std::optional<DeadRank> after;              ///< for a list: only dead letters that come later in it
  RowIds dead_letter_ids;  ///< dead letters with these or with event_ids; both empty: any
  std::vector<base::Uuid> event_ids;
};

/// The newest dead letters, as columns::dead_letter, with their events. Ignores the ids.
struct DeadList {
  Document letters = Document::array();
  DeadRank last;  ///< of the last of them
};
DeadList list_dead(inbox::Connection& connection, const DeadFilter& filter, std::int64_t limit);

/// Whole dead letters.
std::vector<DeadLetter> find_dead(inbox::Connection& connection, const RowIds& dead_letter_ids,
                                  const std::vector<base::Uuid>& event_ids);

struct DeadIdentity {
  std::optional<base::Uuid> event_id;
  std::optional<std::string> source_id;
  std::optional<std::string> topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
};
/// Events of dead letters with that ID, without payloads; at most ten.
std::vector<StoredEvent> identify_dead(inbox::Connection& connection, const DeadIdentity& identity);

struct DeadGroups {
  Document groups;           ///< as columns::dead_group, the largest first
  std::int64_t letters = 0;  ///< of all groups, also of groups beyond the limit
};
/// `by`: error, type or handler; nullopt: by handler and error. At most `limit` groups. Ignores the ids.
DeadGroups group_dead(inbox::Connection& connection, const DeadFilter& filter, const std::optional<std::string>& by,
                      std::int64_t limit);

/// By the clock that dates dead letters.
event::Microseconds database_time(inbox::Connection& connection);

/// The dead letters to replay or discard: of ordered keys key by key, others in the order of their partitions;
/// dead letters that park a key come last. `any_too` includes dead letters that cannot be replayed (now).
std::vector<PickedRow> pick_dead(inbox::Connection& connection, const DeadFilter& filter, bool any_too,
                                    std::int64_t limit);

struct NotNow {
  std::int64_t retired = 0;
  std::int64_t awaited = 0;  ///< a back-fill has yet to pass them and may deliver the events
  std::int64_t parked = 0;   ///< another dead letter parks their key: they are replayed together with it
};
NotNow count_dead_not_now(inbox::Connection& connection, const DeadFilter& filter);

/// Events that these dead letters have parked and that are not among them.
std::int64_t count_parked_behind(inbox::Connection& connection, const RowIds& dead_letter_ids);

struct Replayed {
  std::int64_t letters = 0;   ///< replayed, without dead letters that another operator changed meanwhile
  std::int64_t restored = 0;  ///< events that had been purged
  /// Dead letters that park a key and have left more events parked: replay these next.
  RowIds parking;
};

/// Delivers a batch of a few hundred dead letters to their handlers again, and about as many of the events that they
/// have parked, in a single transaction. May be repeated after any error.
using BringBack = Replayed(inbox::Connection& connection, const RowIds& dead_letter_ids, const Deed& deed,
                           const std::string& operation);
Replayed replay_dead(inbox::Connection& connection, const RowIds& dead_letter_ids, const Deed& deed,
                     const std::string& operation = "dead replay");

/// Delivers the events that these dead letters have parked; the dead letters stay. Otherwise like replay_dead.
Replayed release_parked(inbox::Connection& connection, const RowIds& dead_letter_ids, const Deed& deed,
                        const std::string& operation = "lanes release");

/// The content that a handler gets in place of an event's own.
struct Edit {
  std::string handler;
  Content content;
  Document document;  ///< as columns::edit, with the content
};
/// Edits of an event, at most a single edit for each handler.
std::vector<Edit> read_edits(inbox::Connection& connection, std::int32_t shard_id, std::int64_t offset,
                             const base::Uuid& event_id);

/// Edits a dead letter and replays it like replay_dead, in a single transaction. nullopt: nothing was changed, because
/// the dead letter is gone or cannot be replayed (now).
std::optional<Replayed> edit_dead(inbox::Connection& connection, std::int64_t dead_letter_id, const Content& content,
                                  const Deed& deed);

struct Discarded {
  std::int64_t letters = 0;  ///< that existed
  Replayed released;         ///< events that they had parked
};
Discarded discard_dead(inbox::Connection& connection, const RowIds& dead_letter_ids, const Deed& deed);

}  // namespace inboxd::operations
