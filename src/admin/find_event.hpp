#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "base/uuid.hpp"
#include "inbox/operations_events.hpp"

namespace inboxd::admin {

/// `TOPIC/PARTITION/OFFSET`, as people type it.
struct KafkaPlace {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  bool operator==(const KafkaPlace&) const = default;
};
std::optional<KafkaPlace> parse_place(std::string_view text);

/// A whole number that is not negative, and nothing else.
std::optional<std::int64_t> parse_number(std::string_view text);

/// The event ids that a producer's text may have become: by itself where it is a UUID, with each source, with each
/// topic.
std::vector<base::Uuid> ids_made_of(const std::string& text, const std::string& name_space,
                                    const std::vector<std::string>& sources, const std::vector<std::string>& topics);

/// What a person's ID means: an event_id, a producer's text, or a place in Kafka.
struct FoundEvents {
  std::vector<inbox::EventPlace> places;       ///< several where producers share an id
  std::string hint;                            ///< where nothing was found: what else is known of it
};

/// Looks in the ledger first; where that does not know the id, reads the events of each day, newest first.
FoundEvents find_events(Context& context, const std::string& id);

}  // namespace inboxd::admin
