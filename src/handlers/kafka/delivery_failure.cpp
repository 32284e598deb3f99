#include "delivery_failure.hpp"

#include <algorithm>
#include <cctype>

namespace kafka_handler {
namespace {

using std::chrono::milliseconds;

/// `kafka.not_enough_replicas`: Kafka's own name.
std::string class_of(rd_kafka_resp_err_t error) {
  std::string out = rd_kafka_err2name(error);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  out.erase(0, out.find_first_not_of('_'));
  return "kafka." + out;
}

}  // namespace

bool may_be_of_another(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
         error == RD_KAFKA_RESP_ERR_INVALID_RECORD || is_about_time(error);
}

bool is_about_time(rd_kafka_resp_err_t error) { return error == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP; }

bool is_denied(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
         error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

bool is_withdrawn(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__PURGE_QUEUE || error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
}

inboxd::Outcome outcome_of(rd_kafka_resp_err_t error, const std::string& topic) {
  const std::string message = "topic " + topic + ": " + rd_kafka_err2str(error);
  // Whoever may see the state of handlers sees why a handler is away: no topic, which a key may be part of.
  const std::string away = rd_kafka_err2str(error);
  switch (error) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
      return inboxd::done();
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return inboxd::dead(message, "kafka.too_large");
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
      return inboxd::dead(message, "kafka.invalid");
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return inboxd::dead(message, "kafka.invalid_topic");
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return inboxd::retry(message, "kafka.unknown_topic");
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return inboxd::pause(message, "kafka.denied");
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
      return inboxd::away(pause_between, away, "kafka.unreachable");
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE:
    case RD_KAFKA_RESP_ERR__INCONSISTENT:
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
      // The client's fault, not the record's.
      return inboxd::away(pause_between, away, "kafka.fatal");
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
      return inboxd::away(milliseconds{0}, away, "kafka.withdrawn");
    default:
      return inboxd::retry(message, class_of(error));
  }
}

}  // namespace kafka_handler
