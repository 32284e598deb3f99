#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// Stored events of a topic and type to which no handler subscribed when they were stored.
struct UnsubscribedEvents {
  std::string topic;
  std::string event_type;
  std::int64_t events = 0;
  bool operator==(const UnsubscribedEvents&) const = default;
};

/// Counts such events from their COMMIT until the maintenance thread writes the counts to table unsubscribed. A killed
/// process loses the count of its last second, not the events. Producers choose the types, so their number is limited;
/// all further types are counted together. Any thread.
class Unsubscribed final {
 public:
  static constexpr std::size_t max_types = 1'000;
  static constexpr std::size_t max_type = 200;
  static constexpr std::string_view other_types = "(other types)";

  void add(const std::string& topic, std::string_view event_type, std::int64_t events = 1);
  /// Returns and clears the counts added since the last call.
  std::vector<UnsubscribedEvents> take();
  /// Adds taken counts again: the database did not store them.
  void put_back(const std::vector<UnsubscribedEvents>& events);
  /// By topic, since the process started.
  std::map<std::string, std::uint64_t> totals() const;

 private:
  void count(const std::string& topic, std::string_view event_type, std::int64_t events) REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::int64_t> counts_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> totals_ GUARDED_BY(mutex_);
};

/// Adds counts to table unsubscribed, which has at most max_types rows, and another row for each topic.
void note_unsubscribed(Connection& connection, const std::vector<UnsubscribedEvents>& events);

/// Counts of types to which still no handler subscribes: the highest first, at most `limit`.
std::vector<UnsubscribedEvents> read_unsubscribed(Connection& connection, int limit);

/// Deletes counts of types that a handler subscribes to by now, or that have not occurred for this long.
void trim_unsubscribed(Connection& connection, std::optional<std::chrono::milliseconds> keep);

}  // namespace inboxd::inbox
