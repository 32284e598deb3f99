#include "config/shared_topics.hpp"

#include "config/checks_http.hpp"

namespace inboxd::config {
namespace {

std::string text_of(const ShardOf& shard) {
  return "{index: " + std::to_string(shard.index) + ", of: " + std::to_string(shard.of) + "}";
}

}  // namespace

void check_shard(const Settings& settings, Reading& reading) {
  const auto& [index, of, lease] = settings.shard;
  if (index >= of) {
    complain(reading, {"shard.index", "shard.of"},
             "shard.index (" + std::to_string(index) + ") must be below shard.of (" + std::to_string(of) +
                 "): the databases have the numbers 0 to " + std::to_string(of - 1));
  }
  if (of > 1 && !settings.reads_kafka()) {
    complain(reading, {"shard.of"}, "no topic is read from Kafka, so no partitions are shared; remove shard");
  }
  if (of > 1 && !settings.kafka.instance_id.empty()) {
    complain(reading, {"kafka.instance_id", "shard.of"},
             "no effect with shard.of, which reads without membership in the group; remove this key");
  }
}

std::string uneven_text(const ShardOf& shard, const std::string& topic, int partitions) {
  if (partitions % shard.of == 0) return "";
  const int next = (partitions / shard.of + 1) * shard.of;
  return "topic " + topic + " has " + std::to_string(partitions) + " partitions, which shard.of (" +
         std::to_string(shard.of) + ") does not divide: when it grows, keys move to other databases; give it " +
         std::to_string(next) + " partitions at once, or use a topic of its own (sql/shards.md)";
}

std::string subscribed_text(const std::string& group, const std::string& member) {
  return "group " + group + " has a member that subscribes, " + member +
         ": it reads partitions of all databases, and the brokers refuse this daemon's offsets; stop it, or give it "
         "shard.index and shard.of, or another group";
}

std::string recorded_text(const std::string& schema, const ShardOf& recorded, const ShardOf& configured) {
  if (recorded.index == configured.index && recorded.of == configured.of) return "";
  return "schema " + schema + " was first used with shard: " + text_of(recorded) + ", and the configuration has " +
         text_of(configured) +
         ": its partitions would be read into another database; correct shard or database.url, or see sql/shards.md "
         "to change the number of databases";
}

}  // namespace inboxd::config
