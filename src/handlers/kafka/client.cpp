#include "client.hpp"

#include "../../kafka/token_file.hpp"

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

namespace kafka_handler {
namespace {

constexpr int warning = 4;  // syslog's level, as librdkafka counts

using Conf = std::unique_ptr<rd_kafka_conf_t, void (*)(rd_kafka_conf_t*)>;

void set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  if (inboxd::kafka::is_token_property(name)) {
    const auto refusal = inboxd::kafka::set_token_property(conf, name, value);
    if (refusal) throw inboxd::SettingsError{"setting 'properties': " + name + ": " + *refusal};
    return;
  }
  std::array<char, 512> error{};
  const auto result = rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error.data(), error.size());
  if (result == RD_KAFKA_CONF_UNKNOWN) {
    throw inboxd::SettingsError{"setting 'properties': librdkafka has no property " + name};
  }
  // Its own text may quote the value.
  if (result != RD_KAFKA_CONF_OK) {
    throw inboxd::SettingsError{"setting 'properties': librdkafka refuses the value of " + name +
                                "; see its CONFIGURATION.md"};
  }
}

void write_log(const rd_kafka_t* client, int level, const char*, const char* text) {
  const auto* const log = static_cast<const inboxd::Log*>(rd_kafka_opaque(client));
  const std::string line = std::string{"Kafka client: "} + text;
  level <= warning ? log->warn(line) : log->debug(line);
}

/// A folder, as of authorities, counts as empty: the library looks into it again.
std::string content_of(const std::set<std::string>& files) {
  std::string out;
  for (const std::string& path : files) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream content;
    content << file.rdbuf();  // an iterator would throw at a folder
    out.append(content.str()).append(1, '\0');
  }
  return out;
}

}  // namespace

Client::Client(const Properties& properties, const inboxd::Log& log) {
  Conf conf{rd_kafka_conf_new(), rd_kafka_conf_destroy};
  for (const auto& [name, value] : properties) {
    set(conf.get(), name, value);
    if (name.ends_with(".location")) files_.insert(value);  // as ssl.certificate.location
  }
  content_ = content_of(files_);
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
  rd_kafka_conf_set_log_cb(conf.get(), write_log);
  rd_kafka_conf_set_opaque(conf.get(), const_cast<inboxd::Log*>(&log));
  std::array<char, 512> error{};
  client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), error.data(), error.size()));
  if (!client_) throw inboxd::SettingsError{std::string{"the Kafka client cannot start: "} + error.data()};
  (void)conf.release();  // the client owns it now
  inboxd::kafka::start_tokens(client_.get());
  queue_.reset(rd_kafka_queue_get_main(client_.get()));
}

rd_kafka_resp_err_t Client::produce(const Record& record, RecordHeaders headers, void* slot) {
  const auto bytes = [](inboxd::MaybeText text) {
    const char* const data = !text ? nullptr : text->data() == nullptr ? "" : text->data();
    return std::pair{const_cast<char*>(data), text ? text->size() : std::size_t{0}};
  };
  const auto [key, key_size] = bytes(record.key);
  const auto [payload, payload_size] = bytes(record.payload);
  const auto error = rd_kafka_producev(
      client_.get(), RD_KAFKA_V_TOPIC(record.topic.c_str()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_VALUE(payload, payload_size), RD_KAFKA_V_KEY(key, key_size), RD_KAFKA_V_HEADERS(headers.get()),
      RD_KAFKA_V_TIMESTAMP(record.time), RD_KAFKA_V_OPAQUE(slot), RD_KAFKA_V_END);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) (void)headers.release();  // the client owns them now
  return error;
}

Event Client::poll(int limit_ms) { return Event{rd_kafka_queue_poll(queue_.get(), limit_ms)}; }

void Client::withdraw() { rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT); }

void Client::renew_token() { inboxd::kafka::renew_token(client_.get()); }

bool Client::is_outdated() const { return content_of(files_) != content_; }

bool Client::is_answered(int limit_ms) {
  const rd_kafka_metadata_t* brokers = nullptr;
  if (rd_kafka_metadata(client_.get(), 0, nullptr, &brokers, limit_ms) != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  rd_kafka_metadata_destroy(brokers);
  return true;
}

}  // namespace kafka_handler
