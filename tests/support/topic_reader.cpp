#include "support/topic_reader.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

constexpr int timeout_ms = 30'000;

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

std::optional<std::string> text_of(const void* bytes, std::size_t size) {
  if (bytes == nullptr) return std::nullopt;
  return std::string{static_cast<const char*>(bytes), size};
}

ReadRecord record_of(const rd_kafka_message_t& message) {
  ReadRecord out{message.partition,
                 message.offset,
                 text_of(message.key, message.key_len),
                 text_of(message.payload, message.len),
                 {}};
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return out;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    out.headers.emplace_back(name, text_of(value, size));
  }
  return out;
}

Owned<rd_kafka_t> make_reader(const std::string& brokers) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> error{};
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), error.data(), error.size());
  rd_kafka_conf_set(conf, "group.id", random_name("reader").c_str(), error.data(), error.size());
  rd_kafka_conf_set(conf, "enable.auto.commit", "false", error.data(), error.size());
  rd_kafka_t* const made = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error.data(), error.size());
  if (made == nullptr) throw std::runtime_error{error.data()};
  rd_kafka_poll_set_consumer(made);
  return {made, rd_kafka_destroy};
}

}  // namespace

std::string ReadRecord::header(const std::string& name) const {
  std::string out;
  for (const auto& [each, value] : headers) {
    if (each == name) out = value.value_or("");
  }
  return out;
}

std::vector<ReadRecord> read_topic(const std::string& brokers, const std::string& topic,
                                   const std::map<int, std::int64_t>& ends) {
  const auto reader = make_reader(brokers);
  std::vector<ReadRecord> out;
  for (const auto& [partition, end] : ends) {
    const Owned<rd_kafka_topic_partition_list_t> list{rd_kafka_topic_partition_list_new(1),
                                                      rd_kafka_topic_partition_list_destroy};
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = 0;
    rd_kafka_assign(reader.get(), list.get());
    for (std::int64_t next = 0; next < end;) {
      const Owned<rd_kafka_message_t> message{rd_kafka_consumer_poll(reader.get(), timeout_ms),
                                              rd_kafka_message_destroy};
      if (!message) throw std::runtime_error{"Kafka: no record of topic " + topic + " arrives"};
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error{rd_kafka_message_errstr(message.get())};
      next = message->offset + 1;
      out.push_back(record_of(*message));
    }
  }
  return out;
}

}  // namespace inboxd::support
