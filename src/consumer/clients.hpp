#pragma once
#include <librdkafka/rdkafka.h>

namespace inboxd::consumer {

/// The client library's two handles, both of which are owned by Consumer and outlive whoever is given this. Any thread
/// asks either.
struct Clients {
  /// The group's member: fetches, seeks, commits, and knows the group's offsets.
  rd_kafka_t* member = nullptr;
  /// For nearly all other questions to the brokers, by connections of its own: a broker answers what comes by one
  /// connection in turn, and behind a fetch that waits for records a question would wait as long. What the two know of
  /// topics and leaders is learnt at different times.
  rd_kafka_t* asker = nullptr;
};

}  // namespace inboxd::consumer
