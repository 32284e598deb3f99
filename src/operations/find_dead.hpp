#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "operations/dead_queries.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

struct FoundLetters {
  std::vector<std::int64_t> dead_letter_ids;
  std::vector<base::Uuid> event_ids;
  std::vector<std::string> missing;  ///< IDs without a dead letter
  std::optional<Answer> refusal;     ///< no ID has a dead letter, or an ID belongs to several events, which it lists
};

/// Whether digits may also be a producer's id. Not for changes: once the dead letter with that number is gone, the same
/// command would hit another event.
enum class Digits { number, number_or_producers_id };

/// The dead letters with these IDs: numbers, event_ids, producers' ids, or TOPIC/PARTITION/OFFSET. Numbers come first.
FoundLetters find_letters(Context& context, const std::string& verb, const std::vector<std::string>& ids,
                          Digits digits);

/// `VERB: no dead letter "ID"`.
std::string about_missing(const std::string& verb, const std::vector<std::string>& missing);

/// `whole`: with reasons, payload and headers.
Document letter_document(const DeadLetter& letter, bool whole);

/// The edit of a dead letter by an earlier `dead edit`.
std::optional<Edit> edit_of(inbox::Connection& connection, const DeadLetter& letter);

/// Brings back the events that a transaction of a replay or release has left parked. False: stopped in between.
bool bring_back_rest(Context& context, const std::string& verb, const Deed& deed, RowIds parking, Replayed& sum,
                     BringBack* bring_back = replay_dead);

}  // namespace inboxd::operations
