#include "kafka/producer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kafka/properties.hpp"
#include "kafka/property_check.hpp"
#include "kafka/token_file.hpp"

namespace inboxd::kafka {
namespace {

using Pair = std::pair<const char*, const char*>;

/// Defaults that the user's properties may override. Keys go where Java's producers send them.
constexpr std::array<Pair, 7> producer_defaults{{
    {"client.id", "inboxd"},
    {"partitioner", "murmur2_random"},
    {"linger.ms", "1"},
    {"socket.nagle.disable", "true"},
    {"reconnect.backoff.max.ms", "5000"},
    {"topic.metadata.propagation.max.ms", "5000"},
    {"log.connection.close", "false"},
}};

constexpr std::array<Pair, 7> producer_required{{
    {"enable.idempotence", "true"},
    {"acks", "all"},
    {"message.timeout.ms", "0"},
    {"allow.auto.create.topics", "false"},
    {"message.max.bytes", "1000000000"},    // the topic's limit counts
    {"queue.buffering.max.messages", "0"},  // the relay has its own limits
    {"queue.buffering.max.kbytes", "2147483647"},
}};

/// ProducerSettings::one_by_one or not.
constexpr std::array<Pair, 2> one_by_one{{{"batch.num.messages", "1"}, {"linger.ms", "0"}}};
constexpr std::array<Pair, 1> in_order{{{"enable.gapless.guarantee", "true"}}};

Delivery::End end_of(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
      return Delivery::End::sent;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return Delivery::End::topic_refused;
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
      return Delivery::End::failed;
    default:  // an error of the brokers that the client does not repeat; the others are the client's own
      return code > 0 || code == RD_KAFKA_RESP_ERR_UNKNOWN ? Delivery::End::refused : Delivery::End::failed;
  }
}

std::optional<std::string> configure(const Conf& conf, const ProducerSettings& settings) {
  std::string problem;
  for (const auto& [name, value] : producer_defaults) {
    if (!set_property(conf, name, value, problem)) return problem;
  }
  for (const auto& [name, value] : settings.properties) {
    if (is_for_consumers(name)) continue;
    if (!set_property(conf, name.c_str(), value, problem)) return problem;
  }
  for (const auto& [name, value] : producer_required) {
    if (!set_property(conf, name, value, problem)) return problem;
  }
  for (const auto& [name, value] : in_order) {
    if (!settings.one_by_one && !set_property(conf, name, value, problem)) return problem;
  }
  for (const auto& [name, value] : one_by_one) {
    if (settings.one_by_one && !set_property(conf, name, value, problem)) return problem;
  }
  const auto batch = std::to_string(settings.batch_bytes);
  if (settings.batch_bytes > 0 && !set_property(conf, "batch.size", batch, problem)) return problem;
  if (!set_property(conf, "bootstrap.servers", settings.brokers, problem)) return problem;
  return std::nullopt;
}

}  // namespace

base::Result<std::unique_ptr<Producer>> Producer::make(ProducerSettings settings) {
  std::unique_ptr<Producer> out{new Producer{std::move(settings)}};
  Conf conf{rd_kafka_conf_new()};
  if (auto problem = configure(conf, out->settings_)) return base::Problem{std::move(*problem)};
  rd_kafka_conf_set_opaque(conf.get(), out.get());
  rd_kafka_conf_set_dr_msg_cb(conf.get(), on_end);
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t* client, int level, const char*, const char* text) {
    auto* const self = client == nullptr ? nullptr : static_cast<Producer*>(rd_kafka_opaque(client));
    if (self != nullptr && self->settings_.log) self->settings_.log(level, text);
  });
  std::array<char, 64> partitioner{};
  std::size_t size = partitioner.size();
  rd_kafka_conf_get(conf.get(), "partitioner", partitioner.data(), &size);
  std::array<char, 512> error{};
  out->client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), error.data(), error.size()));
  if (out->client_ == nullptr) return base::Problem{std::string{"the Kafka client cannot start: "} + error.data()};
  static_cast<void>(conf.release());  // the client owns it now
  start_tokens(out->client_.get());
  if (!out->settings_.one_by_one) out->contacts_.emplace(out->client_.get(), partitioner.data());
  return out;
}

Producer::~Producer() {
  if (client_ != nullptr) purge();
}

void Producer::purge() { rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT); }

void Producer::learn(const std::set<std::string_view>& topics, std::chrono::milliseconds longest) {
  if (contacts_) contacts_->learn(topics, longest);
}

Readiness Producer::readiness(const OutgoingMessage& message) {
  if (!contacts_) return Readiness::ready;
  const Readiness of_key = contacts_->readiness(message.topic, message.key.value_or(""));
  // Without a key it may go to any partition, and need not wait for the first message that was sent there.
  return message.key || of_key == Readiness::missing ? of_key : Readiness::ready;
}

Delivery Producer::refusal_of(const OutgoingMessage& message) {
  return {message.id, Delivery::End::topic_refused, contacts_ ? contacts_->error_of(message.topic) : "", message.topic};
}

std::chrono::milliseconds Producer::missing_for(std::string_view topic) {
  if (!contacts_) return {};
  return std::chrono::floor<std::chrono::milliseconds>(Contacts::Clock::now() - contacts_->missing_since(topic));
}

bool Producer::is_answered(std::chrono::milliseconds longest) {
  const rd_kafka_metadata_t* answer = nullptr;
  const auto code = rd_kafka_metadata(client_.get(), 0, nullptr, &answer, static_cast<int>(longest.count()));
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) rd_kafka_metadata_destroy(answer);
  return code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

std::optional<Delivery> Producer::send(const OutgoingMessage& message) {
  rd_kafka_headers_t* headers = rd_kafka_headers_new(message.headers.size());
  for (const auto& [name, value] : message.headers) {
    rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value ? value->data() : nullptr,
                        value ? static_cast<ssize_t>(value->size()) : 0);
  }
  const std::string topic{message.topic};
  static char none = 0;  // an empty value is no null
  const auto data_of = [](const std::optional<std::string_view>& bytes) -> void* {
    if (!bytes) return nullptr;
    return bytes->empty() ? &none : const_cast<char*>(bytes->data());
  };
  const auto size_of = [](const std::optional<std::string_view>& bytes) { return bytes ? bytes->size() : 0; };
  const bool is_known = contacts_ && message.key;
  const std::int32_t partition =
      is_known ? contacts_->partition_of(message.topic, *message.key) : RD_KAFKA_PARTITION_UA;
  const auto code = rd_kafka_producev(
      client_.get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_KEY(data_of(message.key), size_of(message.key)),
      RD_KAFKA_V_VALUE(data_of(message.payload), size_of(message.payload)), RD_KAFKA_V_PARTITION(partition),
      RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_TIMESTAMP(message.time),
      RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(message.id)), RD_KAFKA_V_END);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (is_known) contacts_->note_sent(message.id, message.topic, *message.key);
    return std::nullopt;
  }
  rd_kafka_headers_destroy(headers);
  return end_of(message.id, code);
}

Delivery Producer::end_of(std::int64_t id, rd_kafka_resp_err_t code) {
  Delivery out{id, kafka::end_of(code), {}, {}};
  out.is_too_large = code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
  out.is_about_time = code == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP;
  if (out.end == Delivery::End::sent) return out;
  if (out.end == Delivery::End::failed) failed_ = true;
  out.error = std::string{rd_kafka_err2name(code)} + ": " + rd_kafka_err2str(code);
  return out;
}

void Producer::on_end(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
  auto& producer = *static_cast<Producer*>(self);
  const std::int64_t id = reinterpret_cast<std::intptr_t>(message->_private);
  producer.ends_.push_back(producer.end_of(id, message->err));
  producer.ends_.back().topic = rd_kafka_topic_name(message->rkt);
  if (producer.contacts_) producer.contacts_->note_end(id, message->err == RD_KAFKA_RESP_ERR_NO_ERROR);
}

void Producer::on_error(rd_kafka_t*, int, const char* text, void* self) {
  auto& producer = *static_cast<Producer*>(self);
  producer.credentials_.note_failure();
  if (producer.settings_.on_problem) producer.settings_.on_problem(text);
}

std::vector<Delivery> Producer::take(std::chrono::milliseconds longest) {
  rd_kafka_poll(client_.get(), static_cast<int>(longest.count()));
  if (credentials_.renew({client_.get()})) is_outdated_ = true;
  return std::exchange(ends_, {});
}

std::optional<std::string> Producer::failure() const {
  std::array<char, 512> text{};
  const auto fatal = rd_kafka_fatal_error(client_.get(), text.data(), text.size());
  if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR) return std::string{rd_kafka_err2name(fatal)} + ": " + text.data();
  if (is_outdated_) return "certificates or other properties have changed";
  return failed_ ? std::optional<std::string>{"a message failed"} : std::nullopt;
}

}  // namespace inboxd::kafka
