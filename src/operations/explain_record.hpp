#pragma once
#include <vector>

#include "config/settings.hpp"
#include "envelope/decode.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

/// A record as ingest reads it, by the same code: each rule that was tried, and the event or the reason for quarantine;
/// the handlers that get the event, by their subscriptions; `body` as handlers see it, if `with_body`. A record that is
/// not in Kafka has a negative offset. Blocks while a registry is asked for a schema; `waiting`: it did not answer.
Document explain_record(const event::Record& record, const envelope::TopicRules& rules,
                        const std::vector<config::Handler>& handlers, bool with_body);

}  // namespace inboxd::operations
