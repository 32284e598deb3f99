#include "topic.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>

#include "kafka_handle.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int admin_timeout_ms = 30'000;
constexpr int flush_timeout_ms = 60'000;
constexpr std::string_view sent_field = R"({"sent":)";

void finish_admin(rd_kafka_queue_t* queue, bool creates) {
  rd_kafka_event_t* const event = rd_kafka_queue_poll(queue, admin_timeout_ms);
  if (event == nullptr) throw std::runtime_error{"the broker does not answer"};
  std::size_t count = 0;
  const rd_kafka_topic_result_t** const results =
      creates ? rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
              : rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
  auto code = rd_kafka_event_error(event);
  for (std::size_t i = 0; i < count && code == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
    code = rd_kafka_topic_result_error(results[i]);
  }
  rd_kafka_event_destroy(event);
  check_kafka(code, creates ? "creating a topic" : "deleting a topic");
}

void create_topic(rd_kafka_t* handle, const std::string& name, int partitions, std::int64_t kept_bytes) {
  char error[512] = "";
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, 1, error, sizeof error);
  if (topic == nullptr) throw std::runtime_error{error};
  if (kept_bytes > 0) {
    rd_kafka_NewTopic_set_config(topic, "retention.bytes", std::to_string(kept_bytes).c_str());
    rd_kafka_NewTopic_set_config(topic, "segment.bytes", std::to_string(kept_bytes / 4).c_str());
  }
  rd_kafka_queue_t* const queue = rd_kafka_queue_new(handle);
  rd_kafka_CreateTopics(handle, &topic, 1, nullptr, queue);
  rd_kafka_NewTopic_destroy(topic);
  finish_admin(queue, true);
  rd_kafka_queue_destroy(queue);
}

void delete_topic(rd_kafka_t* handle, const std::string& name) {
  rd_kafka_DeleteTopic_t* topic = rd_kafka_DeleteTopic_new(name.c_str());
  rd_kafka_queue_t* const queue = rd_kafka_queue_new(handle);
  rd_kafka_DeleteTopics(handle, &topic, 1, nullptr, queue);
  rd_kafka_DeleteTopic_destroy(topic);
  finish_admin(queue, false);
  rd_kafka_queue_destroy(queue);
}

std::string unique_name() {
  static std::atomic<int> number{0};
  return "inboxd-bench-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

std::string key_of(const base::Uuid& id) {
  std::string key(Generator::key_bytes, '\0');
  Generator::write_key(id, key.data());
  return key;
}

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t time_of_sending(std::string_view payload) {
  if (!payload.starts_with(sent_field)) return 0;
  std::int64_t value = 0;
  for (const char c : payload.substr(sent_field.size())) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

std::optional<std::uint32_t> microseconds_since_sending(std::string_view payload) {
  const auto sent = time_of_sending(payload);
  if (sent == 0) return std::nullopt;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(nanoseconds_now() - sent, 0) / 1000);
}

Topic::Topic(const std::string& brokers, int partitions, std::int64_t kept_bytes)
    : name_{unique_name()}, partitions_{partitions}, producer_{nullptr} {
  auto handle = make_kafka_handle(
      RD_KAFKA_PRODUCER, brokers,
      {{"acks", "all"}, {"linger.ms", "1"}, {"batch.size", "262144"}, {"queue.buffering.max.messages", "200000"}});
  create_topic(handle.get(), name_, partitions_, kept_bytes);
  producer_ = handle.release();
}

Topic::~Topic() {
  try {
    delete_topic(producer_, name_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the topic %s stays behind: %s\n", name_.c_str(), error.what());
  }
  rd_kafka_destroy(producer_);
}

/// `id`: for the header; empty: none.
void Topic::send(int partition, const std::string& key, const std::string& payload, const std::string& id) {
  while (true) {
    rd_kafka_headers_t* headers = nullptr;
    if (!id.empty()) {
      headers = rd_kafka_headers_new(1);
      rd_kafka_header_add(headers, "id", -1, id.data(), static_cast<ssize_t>(id.size()));
    }
    const auto code =
        rd_kafka_producev(producer_, RD_KAFKA_V_TOPIC(name_.c_str()), RD_KAFKA_V_PARTITION(partition),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key.data(), key.size()),
                          RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()),
                          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && headers != nullptr) rd_kafka_headers_destroy(headers);
    if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      rd_kafka_poll(producer_, 10);
      continue;
    }
    check_kafka(code, "producing");
    return;
  }
}

void Topic::flush() { check_kafka(rd_kafka_flush(producer_, flush_timeout_ms), "producing"); }

void Topic::preload(const Generator& generator, std::int64_t first, std::int64_t events) {
  std::string payload;
  for (std::int64_t number = first; number < first + events; ++number) {
    generator.write_payload(number, payload);
    send(static_cast<int>(number % partitions_), key_of(generator.id(number)), payload);
    if (number % 1000 == 0) rd_kafka_poll(producer_, 0);
  }
  flush();
}

void Topic::preload_made(const Generator& ids, std::int64_t events,
                         const std::function<std::string(std::int64_t)>& make) {
  for (std::int64_t i = 0; i < events; ++i) send(static_cast<int>(i % partitions_), key_of(ids.id(i)), make(i));
  flush();
}

void Topic::preload_keyed(const Generator& generator, std::int64_t events, Keys keys) {
  std::string payload;
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> share{0, 1};
  for (std::int64_t number = 0; number < events; ++number) {
    generator.write_payload(number, payload);
    const auto count = static_cast<std::uint64_t>(keys.count);
    const auto drawn =
        static_cast<std::int64_t>((keys.in_turn ? static_cast<std::uint64_t>(number) : random()) % count);
    const std::int64_t key = keys.first + (share(random) < keys.hot_share ? 0 : drawn);
    send(static_cast<int>(key % partitions_), "customer-" + std::to_string(key), payload, key_of(generator.id(number)));
    if (number % 1000 == 0) rd_kafka_poll(producer_, 0);
  }
  flush();
}

void Topic::preload_once(const Generator& generator, std::int64_t keys) {
  std::string payload;
  for (std::int64_t number = 0; number < keys; ++number) {
    generator.write_payload(number, payload);
    send(static_cast<int>(number % partitions_), "customer-" + std::to_string(number), payload,
         key_of(generator.id(number)));
    if (number % 1000 == 0) rd_kafka_poll(producer_, 0);
  }
  flush();
}

std::int64_t Topic::produce_steadily(const Generator& generator, double per_second, std::int64_t events,
                                     const std::atomic<bool>& stop) {
  const auto began = Clock::now();
  std::string payload;
  std::int64_t number = 0;
  for (; number < events && !stop; ++number) {
    // Sends a millisecond's records at once and to a single partition, as the sticky partitioner of other clients does:
    // waking and sending a request per record would be the main load. At less than a record per millisecond, each goes
    // to the next partition.
    const auto tick = static_cast<std::int64_t>(static_cast<double>(number) * 1e3 / per_second);
    const auto due = began + std::chrono::milliseconds{tick};
    if (due > Clock::now()) std::this_thread::sleep_until(due);
    payload = std::string{sent_field} + std::to_string(nanoseconds_now()) + R"(,"text":")";
    if (generator.payload_bytes() > payload.size() + 2)
      payload.append(generator.payload_bytes() - payload.size() - 2, 'x');
    payload += R"("})";
    send(static_cast<int>(std::min(tick, number) % partitions_), key_of(generator.id(number)), payload);
    if (number % 100 == 0) rd_kafka_poll(producer_, 0);
  }
  flush();
  return number;
}

void consume_plainly(const std::string& brokers, const std::string& topic, int partitions,
                     const std::function<bool(std::string_view)>& visit, const std::function<bool()>& idle) {
  const auto handle = consume_from_beginning(brokers, topic, partitions);
  for (bool more = true; more;) {
    rd_kafka_message_t* const message = rd_kafka_consumer_poll(handle.get(), 20);
    if (message == nullptr) {
      more = idle();
      continue;
    }
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      more = visit({static_cast<const char*>(message->payload), message->len});
    }
    rd_kafka_message_destroy(message);
  }
  rd_kafka_consumer_close(handle.get());
}

}  // namespace inboxd::bench
