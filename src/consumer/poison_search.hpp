#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "event/event.hpp"
#include "inbox/connection.hpp"
#include "inbox/ingest.hpp"

namespace inboxd::consumer {

/// An event that the database refuses as bad data, and the error.
struct PoisonEvent {
  std::size_t index = 0;
  std::string error;
};

/// Finds the poison events of a batch that the database refused, by bisection. Each probe is an ingest transaction that
/// is rolled back. Used on the ingester's thread; throws database errors (inbox::describe).
class PoisonSearch final {
 public:
  PoisonSearch(inbox::Connection& connection, const inbox::IngestBatch& batch)
      : connection_{connection}, batch_{batch} {}

  /// The first poison events, as many as are removed at a time. None if the batch is refused even without its events.
  std::vector<PoisonEvent> run();
  /// Whether the database accepts any other event. If not, the database is at fault, not the data.
  bool is_any_accepted(const std::vector<PoisonEvent>& refused);

 private:
  /// The error for that range of events; nothing if they are accepted.
  std::optional<std::string> refusal(std::size_t begin, std::size_t end);
  void bisect(std::size_t begin, std::size_t end, std::vector<PoisonEvent>& found);
  /// Whether a harmless event is accepted in the place of a refused event.
  bool is_harmless_one_accepted(const event::Event& instead_of);

  inbox::Connection& connection_;
  const inbox::IngestBatch& batch_;
};

}  // namespace inboxd::consumer
