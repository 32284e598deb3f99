#include "consumer/poison_search.hpp"

#include <algorithm>
#include <utility>

#include "base/uuid.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"

namespace inboxd::consumer {
namespace {

/// Poison events removed before the batch is retried, and more are searched for.
constexpr std::size_t max_poison_at_once = 64;
/// If more events than this are all refused, the database is at fault, not the data. For so few, a harmless event is
/// tried as well.
constexpr std::size_t max_wholly_bad = 8;
/// Events tried after the last poison event, spread evenly, if none has been accepted so far.
constexpr std::size_t samples = 16;

}  // namespace

std::vector<PoisonEvent> PoisonSearch::run() {
  std::vector<PoisonEvent> found;
  if (!refusal(0, 0)) bisect(0, batch_.events.size(), found);
  return found;
}

std::optional<std::string> PoisonSearch::refusal(std::size_t begin, std::size_t end) {
  inbox::IngestBatch part;
  part.owner = batch_.owner;
  part.fence = batch_.fence;
  part.routing_version = batch_.routing_version;
  part.steps = batch_.steps;
  part.rejected = batch_.rejected;
  part.suspects = batch_.suspects;
  part.events.assign(batch_.events.begin() + static_cast<std::ptrdiff_t>(begin),
                     batch_.events.begin() + static_cast<std::ptrdiff_t>(end));
  const auto failure = inbox::database_failure_of([&] { inbox::rehearse(connection_, part); });
  if (!failure) return std::nullopt;
  if (failure->fault != inbox::Fault::poison) throw inbox::DatabaseError{*failure};
  return failure->sqlstate + " " + failure->message;
}

bool PoisonSearch::is_any_accepted(const std::vector<PoisonEvent>& refused) {
  // All events between two poison events were accepted.
  const std::size_t searched = refused.back().index + 1;
  if (searched > refused.size()) return true;
  const std::size_t left = batch_.events.size() - searched;
  for (std::size_t i = 0; i < std::min(samples, left); ++i) {
    const std::size_t index = searched + i * left / std::min(samples, left);
    if (!refusal(index, index + 1)) return true;
  }
  return refused.size() <= max_wholly_bad && is_harmless_one_accepted(batch_.events[refused.front().index]);
}

bool PoisonSearch::is_harmless_one_accepted(const event::Event& instead_of) {
  inbox::IngestBatch probe = batch_;
  event::Event harmless;
  harmless.shard_id = instead_of.shard_id;
  harmless.offset = instead_of.offset;
  harmless.event_id = base::random_uuid();
  harmless.event_type = "inboxd.probe";
  harmless.payload = "{}";
  probe.events = {harmless};
  return !PoisonSearch{connection_, probe}.refusal(0, 1);
}

void PoisonSearch::bisect(std::size_t begin, std::size_t end, std::vector<PoisonEvent>& found) {
  if (found.size() >= max_poison_at_once || begin >= end) return;
  auto error = refusal(begin, end);
  if (!error) return;
  if (end - begin == 1) {
    found.push_back({begin, std::move(*error)});
    return;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  bisect(begin, middle, found);
  bisect(middle, end, found);
}

}  // namespace inboxd::consumer
