#pragma once
#include <string>

#include "config/convert.hpp"
#include "config/settings.hpp"

namespace inboxd::config {

/// The most databases that share topics.
inline constexpr int max_shards = 1'024;

// Rules for topics whose partitions several databases share. Each text is a fact and its remedy, for `check` and the
// daemon; empty: all is well.

/// Keys of `shard` that contradict each other or the rest of the file.
void check_shard(const Settings& settings, Reading& reading);

/// Each database must get the same keys at any size of the topic, so `of` divides the number of partitions.
std::string uneven_text(const ShardOf& shard, const std::string& topic, int partitions);
/// A member that subscribes reads partitions of other databases, too. `member`: its client id and host.
std::string subscribed_text(const std::string& group, const std::string& member);
/// `recorded`: as the schema was first used.
std::string recorded_text(const std::string& schema, const ShardOf& recorded, const ShardOf& configured);

}  // namespace inboxd::config
