#include "kafka/log_reader.hpp"

#include <chrono>
#include <utility>

namespace inboxd::kafka {
namespace {

constexpr std::size_t portion_size = 2'000;
/// Short, because a portion has all that comes meanwhile: of large records tens of megabytes.
constexpr int wait_ms = 20;

bool is_passing(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
         code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
         code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION;
}

}  // namespace

LogReader::LogReader(rd_kafka_t* client, const TopicPartition& partition, std::int64_t from)
    : partition_{partition},
      queue_{rd_kafka_queue_new(client)},
      topic_{rd_kafka_topic_new(client, partition.topic.c_str(), nullptr)},
      next_{from} {
  if (rd_kafka_consume_start_queue(topic_.get(), partition.partition, from, queue_.get()) != 0) {
    problem_ = {text_of(partition) + ": " + rd_kafka_err2str(rd_kafka_last_error())};
  }
}

LogReader::~LogReader() {
  ahead_.clear();
  rd_kafka_consume_stop(topic_.get(), partition_.partition);
}

base::Result<LogReader::Chunk> LogReader::read(std::int64_t end, std::size_t max_bytes, Timeout timeout) {
  Chunk out;
  std::size_t bytes = max_bytes;
  std::vector<rd_kafka_message_t*> portion(portion_size);
  auto deadline = std::chrono::steady_clock::now() + timeout;
  for (bool is_over = false;;) {
    if (give(end, bytes, out)) {
      next_ = out.next = out.messages.back()->offset + 1;
      return out;
    }
    is_over = is_over || !ahead_.empty() || next_ >= end ||
              (!out.messages.empty() && out.messages.back()->offset + 1 >= end);
    if (is_over || !problem_.message.empty()) break;
    const auto count = rd_kafka_consume_batch_queue(queue_.get(), wait_ms, portion.data(), portion.size());
    if (count > 0) {
      deadline = std::chrono::steady_clock::now() + timeout;
      is_over = take(portion, static_cast<std::size_t>(count), end);
    } else if (std::chrono::steady_clock::now() > deadline) {
      problem_ = {text_of(partition_) + ": no record came for " + std::to_string(timeout.count() / 1000) +
                  " s; check the brokers, and the right to read the topic"};
    }
  }
  if (!problem_.message.empty()) return problem_;
  next_ = out.next = end;
  return out;
}

bool LogReader::take(std::vector<rd_kafka_message_t*>& portion, std::size_t count, std::int64_t end) {
  bool is_over = false;
  for (std::size_t i = 0; i < count; ++i) {
    Message message{std::exchange(portion[i], nullptr)};
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      is_over = is_over || message->offset >= end;
    } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (!is_passing(message->err)) problem_ = {text_of(partition_) + ": " + rd_kafka_message_errstr(message.get())};
    } else {
      ahead_.push_back(std::move(message));
    }
  }
  return is_over;
}

bool LogReader::give(std::int64_t end, std::size_t& bytes, Chunk& out) {
  while (!ahead_.empty() && ahead_.front()->offset < end) {
    const std::size_t size = ahead_.front()->len + ahead_.front()->key_len;
    out.messages.push_back(std::move(ahead_.front()));
    ahead_.pop_front();
    if (size >= bytes) return true;
    bytes -= size;
  }
  return false;
}

}  // namespace inboxd::kafka
