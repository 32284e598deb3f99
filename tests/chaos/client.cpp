// The rig's Kafka client.
//
//   chaos_client topics BROKERS NAME:PARTITIONS...   creates topics with the brokers' replication factor
//   chaos_client produce BROKERS                     a record per line of stdin: topic, key (empty: none), id, payload
//   chaos_client read BROKERS TOPIC                  prints a record per line: partition, offset, key, id, payload
//
// Fields are separated by tabs.
#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "support/kafka.hpp"
#include "support/topic_reader.hpp"

namespace {

using Producer = std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)>;

std::size_t delivered = 0, failed = 0;

Producer make_producer(const std::string& brokers) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> error{};
  const auto set = [&](const char* name, const std::string& value) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), error.data(), error.size()) != RD_KAFKA_CONF_OK) {
      throw std::runtime_error{error.data()};
    }
  };
  set("bootstrap.servers", brokers);
  set("enable.idempotence", "true");
  set("message.timeout.ms", "0");  // a record that was given up would leave a gap that the ledger cannot tell
  set("linger.ms", "5");
  set("log_level", "2");
  rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    ++(message->err == RD_KAFKA_RESP_ERR_NO_ERROR ? delivered : failed);
  });
  rd_kafka_t* const made = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
  if (made == nullptr) throw std::runtime_error{error.data()};
  return {made, rd_kafka_destroy};
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t tab = line.find('\t'); tab != std::string::npos; tab = line.find('\t', from)) {
    out.push_back(line.substr(from, tab - from));
    from = tab + 1;
  }
  out.push_back(line.substr(from));
  return out;
}

void send(rd_kafka_t* producer, const std::vector<std::string>& fields) {
  const auto& [topic, key, id, payload] = std::tie(fields.at(0), fields.at(1), fields.at(2), fields.at(3));
  while (true) {
    rd_kafka_headers_t* const headers = rd_kafka_headers_new(1);
    rd_kafka_header_add(headers, "id", 2, id.data(), static_cast<ssize_t>(id.size()));
    const auto error = rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()),
        RD_KAFKA_V_KEY(key.empty() ? nullptr : key.data(), key.size()), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    rd_kafka_headers_destroy(headers);
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) throw std::runtime_error{rd_kafka_err2str(error)};
    rd_kafka_poll(producer, 50);
  }
  rd_kafka_poll(producer, 0);
}

int produce(const std::string& brokers) {
  const Producer producer = make_producer(brokers);
  for (std::string line; std::getline(std::cin, line);) send(producer.get(), fields_of(line));
  const bool is_flushed = rd_kafka_flush(producer.get(), 120'000) == RD_KAFKA_RESP_ERR_NO_ERROR;
  std::printf("%zu\t%zu\t%d\n", delivered, failed, rd_kafka_outq_len(producer.get()));
  return is_flushed && failed == 0 ? 0 : 1;
}

int read(const std::string& brokers, const std::string& topic) {
  inboxd::support::Kafka kafka{brokers};
  for (const auto& record : inboxd::support::read_topic(brokers, topic, kafka.ends(topic))) {
    std::printf("%d\t%lld\t%s\t%s\t%s\n", record.partition, static_cast<long long>(record.offset),
                record.key.value_or("").c_str(), record.header("id").c_str(), record.payload.value_or("").c_str());
  }
  return 0;
}

int make_topics(const std::string& brokers, const std::vector<std::string>& topics) {
  inboxd::support::Kafka kafka{brokers};
  for (const std::string& topic : topics) {
    const auto colon = topic.find(':');
    kafka.create_topic(std::stoi(topic.substr(colon + 1)), topic.substr(0, colon));
  }
  return 0;
}

}  // namespace

int main(int count, char** texts) try {
  const std::vector<std::string> arguments(texts + 1, texts + count);
  if (arguments.size() == 2 && arguments[0] == "produce") return produce(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "read") return read(arguments[1], arguments[2]);
  if (arguments.size() > 2 && arguments[0] == "topics") {
    return make_topics(arguments[1], {arguments.begin() + 2, arguments.end()});
  }
  std::fputs("usage: chaos_client topics|produce|read BROKERS [ARGUMENT]...\n", stderr);
  return 64;
} catch (const std::exception& error) {
  std::fprintf(stderr, "chaos_client: %s\n", error.what());
  return 1;
}
