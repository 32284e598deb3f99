#include "consumer/partition_errors.hpp"

namespace inboxd::consumer {

bool is_about_position(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE ||
         code == RD_KAFKA_RESP_ERR__LOG_TRUNCATION;
}

bool is_corruption(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__BAD_MSG || code == RD_KAFKA_RESP_ERR__BAD_COMPRESSION ||
         code == RD_KAFKA_RESP_ERR_INVALID_MSG || code == RD_KAFKA_RESP_ERR__INCONSISTENT;
}

bool is_passing(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
         code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
         code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION || code == RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH ||
         code == RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH || code == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ||
         code == RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE;
}

}  // namespace inboxd::consumer
