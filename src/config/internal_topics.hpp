#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace inboxd::config {

/// Where Kafka itself keeps what it knows. Nobody reads them as events: that a group has read a record of
/// __consumer_offsets is the next record there, without end. kafka/properties hides the same names from patterns.
inline constexpr std::array<std::string_view, 5> internal_topics{
    "__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"};

inline bool is_internal_topic(std::string_view name) {
  return std::find(internal_topics.begin(), internal_topics.end(), name) != internal_topics.end();
}

}  // namespace inboxd::config
