#pragma once
#include <librdkafka/rdkafka.h>

#include <inboxd/handler.hpp>
#include <string>

namespace kafka_handler {

/// Until brokers that do not answer are asked again.
inline constexpr inboxd::Milliseconds pause_between{1'000};

/// The outcome of an event whose record the client or a broker refused; config/handlers/kafka.md has the table.
inboxd::Outcome outcome_of(rd_kafka_resp_err_t error, const std::string& topic);

/// Brokers refuse whole batches: for their size, or for one of their records.
bool may_be_of_another(rd_kafka_resp_err_t error);
/// The record's timestamp is too far from the brokers' clocks, or that of another record in its batch.
bool is_about_time(rd_kafka_resp_err_t error);

/// The daemon has no right to write.
bool is_denied(rd_kafka_resp_err_t error);

/// The record was withdrawn before a broker acknowledged it.
bool is_withdrawn(rd_kafka_resp_err_t error);

}  // namespace kafka_handler
