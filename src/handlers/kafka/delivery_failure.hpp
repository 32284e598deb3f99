#pragma once
#include <librdkafka/rdkafka.h>

#include <inboxd/handler.hpp>
#include <string>

namespace kafka_handler {

/// Until brokers that do not answer are asked again.
inline constexpr inboxd::Milliseconds pause_between{1'000};

/// The outcome of an event whose record the client or a broker refused; config/handlers/kafka.md has the table.
inboxd::Outcome outcome_of(rd_kafka_resp_err_t error, const std::string& topic);

/// The record, or the batch that it was in, is larger than a limit.
bool is_too_large(rd_kafka_resp_err_t error);

/// The daemon has no right to write.
bool is_denied(rd_kafka_resp_err_t error);

/// The record was withdrawn before a broker acknowledged it.
bool is_withdrawn(rd_kafka_resp_err_t error);

}  // namespace kafka_handler
