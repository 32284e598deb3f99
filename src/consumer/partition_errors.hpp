#pragma once
#include <librdkafka/rdkafka.h>

namespace inboxd::consumer {

// What an error that comes in place of a partition's record means. Pure.

/// The position is not in the log, or the log is another.
bool is_about_position(rd_kafka_resp_err_t code);
/// The record could not be made out: the network, or the broker's disk.
bool is_corruption(rd_kafka_resp_err_t code);
/// The client library gets over it by itself.
bool is_passing(rd_kafka_resp_err_t code);

}  // namespace inboxd::consumer
