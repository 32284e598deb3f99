#pragma once
#include <optional>
#include <string>

#include "base/result.hpp"
#include "consumer/topics.hpp"
#include "inbox/connection.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// The first start of an entry of the configuration: one moment, at which all partitions of all its topics that exist
/// get their first position by its `start`. What appears later begins at its beginning, also where no topic existed.
/// Does nothing where it has been. A problem where a broker did not answer. Blocks on brokers and database; throws what
/// inbox::describe reads.
std::optional<base::Problem> start_entry(inbox::Connection& connection, rd_kafka_t* client, const Topics& topics,
                                         const config::Topic& entry);

/// First positions at their beginnings for a topic's partitions that have none; after start_entry.
std::optional<base::Problem> start_later_topic(inbox::Connection& connection, rd_kafka_t* client,
                                               const std::string& name);

}  // namespace inboxd::consumer
