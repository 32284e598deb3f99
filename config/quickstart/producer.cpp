// Produces the quickstart's records: orders in three common envelopes, duplicates, one record without an id, orders
// that fail twice and one that always fails.
//
//   producer BROKERS TOPIC
//
// Sends the same records each time. Prints their counts as NAME=NUMBER lines.
#include <librdkafka/rdkafka.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kafka/handle.hpp"

namespace {

constexpr int orders = 3'000;
constexpr int duplicates = 300;
constexpr int slow_orders = 5;
constexpr int first_slow_order = 100;
constexpr int refused_order = 200;

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Record {
  std::string key;
  std::string value;
  Headers headers;
};

/// A UUID, the same in every run.
std::string id_of(int order) {
  char text[40];
  std::snprintf(text, sizeof text, "0d3a1c5e-7b2f-4e90-8c41-%012d", order);
  return text;
}

int whole_amount(int order) { return 5 + order % 90; }
int cents(int order) { return order % 100; }

std::string order_json(int order) {
  const bool slow = order >= first_slow_order && order < first_slow_order + slow_orders;
  const char* const card = order == refused_order ? "refused" : slow ? "slow" : "visa";
  char text[256];
  std::snprintf(text, sizeof text, R"({"orderId":"A-%05d","customer":"C-%03d","amount":%d.%02d,"card":"%s"})", order,
                order % 400, whole_amount(order), cents(order), card);
  return text;
}

Record order_record(int order) {
  Record record;
  record.key = "C-" + std::to_string(order % 400);
  switch (order % 3) {
    case 0:  // CloudEvents, binary: attributes in headers
      record.headers = {{"ce_specversion", "1.0"},
                        {"ce_id", id_of(order)},
                        {"ce_source", "/shop"},
                        {"ce_type", "OrderPlaced"},
                        {"content-type", "application/json"}};
      record.value = order_json(order);
      break;
    case 1:  // CloudEvents, structured: everything in the value
      record.headers = {{"content-type", "application/cloudevents+json; charset=UTF-8"}};
      record.value = R"({"specversion":"1.0","id":")" + id_of(order) +
                     R"(","source":"/shop","type":"OrderPlaced","data":)" + order_json(order) + "}";
      break;
    default:  // an outbox router: the id in a header, the aggregate as the key
      record.headers = {{"id", id_of(order)}, {"eventType", "OrderPlaced"}};
      record.value = order_json(order);
  }
  return record;
}

void check(rd_kafka_resp_err_t error, const char* what) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  std::fprintf(stderr, "producer: %s: %s\n", what, rd_kafka_err2str(error));
  std::exit(1);
}

void send(rd_kafka_t* producer, const std::string& topic, const Record& record) {
  rd_kafka_headers_t* const headers = rd_kafka_headers_new(record.headers.size());
  for (const auto& [name, value] : record.headers) {
    rd_kafka_header_add(headers, name.c_str(), -1, value.data(), static_cast<ssize_t>(value.size()));
  }
  check(rd_kafka_producev(
            producer, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_KEY(record.key.data(), record.key.size()),
            RD_KAFKA_V_VALUE(const_cast<char*>(record.value.data()), record.value.size()), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK), RD_KAFKA_V_END),
        "cannot send");
  rd_kafka_poll(producer, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: producer BROKERS TOPIC\n");
    return 64;
  }
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  char error[256];
  if (rd_kafka_conf_set(conf, "bootstrap.servers", argv[1], error, sizeof error) != RD_KAFKA_CONF_OK) {
    std::fprintf(stderr, "producer: %s\n", error);
    return 64;
  }
  const inboxd::kafka::Client producer{rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error)};
  if (producer == nullptr) {
    std::fprintf(stderr, "producer: %s\n", error);
    return 1;
  }
  for (int order = 0; order < orders; ++order) send(producer.get(), argv[2], order_record(order));
  for (int order = 0; order < duplicates; ++order) send(producer.get(), argv[2], order_record(order * 10));
  send(producer.get(), argv[2], {"C-1", R"({"note":"somebody forgot the id"})", {}});
  check(rd_kafka_flush(producer.get(), 30'000), "the broker did not take everything");
  long sales = 0;
  for (int order = 0; order < orders; ++order) sales += whole_amount(order) * 100 + cents(order);
  std::printf("orders=%d\nduplicates=%d\nwithout_id=1\nfail_twice=%d\nalways_fail=1\nsales_in_cents=%ld\n", orders,
              duplicates, slow_orders, sales);
  return 0;
}
