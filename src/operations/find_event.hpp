#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "operations/event_queries.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

struct KafkaPlace {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  bool operator==(const KafkaPlace&) const = default;
};
std::optional<KafkaPlace> parse_place(std::string_view text);

/// A whole number from 0.
std::optional<std::int64_t> parse_number(std::string_view text);

/// The event ids that a producer's id can lead to: itself if it is a UUID, then with each source and each topic.
std::vector<base::Uuid> ids_made_of(const std::string& text, const std::string& name_space,
                                    const std::vector<std::string>& sources, const std::vector<std::string>& topics);

/// The events with an ID: an event_id, a producer's id, or a place in Kafka.
struct FoundEvents {
  std::vector<EventPlace> places;  ///< several if producers share an id
  std::string hint;                ///< if there is none: the likely reason
};

/// Searches the ledger first, then the events of each day, newest first.
FoundEvents find_events(Context& context, const std::string& id);

}  // namespace inboxd::operations
