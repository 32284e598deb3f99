#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "consumer/clients.hpp"
#include "consumer/topics.hpp"
#include "inbox/connection.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// Called between two questions to the brokers, which may take long together: a sign of life.
using Moved = std::function<void()>;

/// The first start of an entry of the configuration: one moment, at which all partitions of all its topics that exist
/// get their first position by its `start`. Those without a leader are noted and put off. What appears later begins at
/// its beginning, also where no topic existed. Does nothing where it has been. A problem where a broker did not answer.
/// Blocks on brokers and database; throws what inbox::describe reads.
std::optional<base::Problem> start_entry(inbox::Connection& connection, const Clients& clients, const Topics& topics,
                                         const config::Topic& entry, const Moved& moved);

/// The first position of a partition, after start_entry has been: where it was put off, as of that moment. At the
/// beginning otherwise, for all partitions of its topic that have none.
std::optional<base::Problem> start_later(inbox::Connection& connection, const Clients& clients,
                                         const kafka::TopicPartition& partition, const config::Topic& entry,
                                         const Moved& moved);

}  // namespace inboxd::consumer
