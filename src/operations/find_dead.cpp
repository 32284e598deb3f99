#include "operations/find_dead.hpp"

#include <utility>

#include "base/text.hpp"
#include "operations/documents.hpp"
#include "operations/find_event.hpp"

namespace inboxd::operations {
namespace {

constexpr std::size_t max_name = 100;

bool has_digits_only(const std::string& id) { return id.find_first_not_of("0123456789") == std::string::npos; }

bool is_number_of_one(inbox::Connection& connection, std::int64_t number) {
  DeadFilter filter;
  filter.dead_letter_ids.push_back(number);
  return !pick_dead(connection, filter, true, 1).empty();
}

std::vector<StoredEvent> events_with_id(inbox::Connection& connection, const std::string& id) {
  DeadIdentity identity;
  identity.event_id = base::parse_uuid(id);
  identity.source_id = id;
  if (const auto place = parse_place(id)) {
    identity.topic = place->topic;
    identity.partition = place->partition;
    identity.offset = place->offset;
  }
  return identify_dead(connection, identity);
}

Answer several(const std::string& verb, const std::string& id, const std::vector<StoredEvent>& events) {
  Document candidates = Document::array();
  for (const auto& event : events) candidates.push_back(summary_of(event));
  return {base::ExitCode::no,
          {{"events", std::move(candidates)}},
          verb + ": dead letters of " + std::to_string(events.size()) + " events have the id " +
              base::json_quote(base::shorten(id, max_name)) + "; pass an event_id"};
}

bool is_one_event(const std::vector<StoredEvent>& events) {
  for (const auto& event : events) {
    if (event.event_id != events.front().event_id) return false;
  }
  return true;
}

}  // namespace

std::string about_missing(const std::string& verb, const std::vector<std::string>& missing) {
  std::vector<std::string> names;
  for (const std::string& id : missing) names.push_back(base::json_quote(base::shorten(id, max_name)));
  return verb + ": no dead letter " + base::joined(names);
}

FoundLetters find_letters(Context& context, const std::string& verb, const std::vector<std::string>& ids,
                          Digits digits) {
  FoundLetters out;
  for (const std::string& id : ids) {
    const auto number = parse_number(id);
    if (number && is_number_of_one(*context.connection, *number)) {
      out.dead_letter_ids.push_back(*number);
      continue;
    }
    const bool is_number_only = digits == Digits::number && has_digits_only(id);
    const auto events = is_number_only ? std::vector<StoredEvent>{} : events_with_id(*context.connection, id);
    if (events.empty()) {
      out.missing.push_back(id);
    } else if (is_one_event(events)) {
      out.event_ids.push_back(events.front().event_id);
    } else {
      out.refusal = several(verb, id, events);
      return out;
    }
  }
  if (out.missing.empty() || !out.dead_letter_ids.empty() || !out.event_ids.empty()) return out;
  const std::string help = digits == Digits::number
                               ? "; digits alone are a number from `dead list`; for an event pass its event_id or "
                                 "TOPIC/PARTITION/OFFSET"
                               : "; an ID is a number from `dead list`, an event_id, the producer's id, or "
                                 "TOPIC/PARTITION/OFFSET";
  out.refusal =
      Answer{base::ExitCode::no, {{"dead_letters", Document::array()}}, about_missing(verb, out.missing) + help};
  return out;
}

Document letter_document(const DeadLetter& letter, bool whole) {
  Document out = letter.document;
  if (whole) out["reasons"] = letter.reasons;
  out["event"] = whole ? letter.event.document : summary_of(letter.event);
  return out;
}

std::optional<Edit> edit_of(inbox::Connection& connection, const DeadLetter& letter) {
  for (auto& edit : read_edits(connection, letter.event.shard_id, letter.event.offset, letter.event.event_id)) {
    if (edit.handler == letter.handler) return std::move(edit);
  }
  return std::nullopt;
}

bool bring_back_rest(Context& context, const std::string& verb, const Deed& deed, RowIds parking, Replayed& sum,
                     BringBack* bring_back) {
  while (!parking.empty()) {
    if (context.pause(std::chrono::milliseconds{0})) return false;
    Replayed more = bring_back(*context.connection, parking, deed, verb);
    sum.letters += more.letters;
    sum.restored += more.restored;
    parking = std::move(more.parking);
  }
  return true;
}

}  // namespace inboxd::operations
