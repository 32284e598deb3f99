#include "consumer/group_offset.hpp"

#include "kafka/lookup.hpp"

namespace inboxd::consumer {

bool GroupOffset::is_ahead(rd_kafka_t* member, const kafka::TopicPartition& partition,
                           const inbox::ShardPosition& position, base::Logger& log) {
  if (Clock::now() < ask_at_) return false;
  const auto committed = kafka::committed_offset(member, partition, answer_within);
  if (!committed) {
    ask_at_ = Clock::now() + ask_again_after;
    log.debug(
        "consumer: the group's offset was not told",
        {{"topic", partition.topic}, {"partition", partition.partition}, {"reason", committed.problem().message}});
    return false;
  }
  if (!committed.value() || *committed.value() <= position.next_offset) return false;
  if (position.is_beginning) return true;  // put there on purpose: the group's offset is of before
  log.error(
      "consumer: the database is behind the group's offset (restored or failed over?); reading again from its "
      "position",
      {{"topic", partition.topic},
       {"partition", partition.partition},
       {"position", position.next_offset},
       {"group_offset", *committed.value()}});
  return true;
}

}  // namespace inboxd::consumer
