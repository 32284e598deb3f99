#include "cli/record_source.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "consumer/batch.hpp"
#include "kafka/client_log.hpp"
#include "kafka/log_reader.hpp"
#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"
#include "operations/broker_problem.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using Clock = std::chrono::steady_clock;

/// For a request to the brokers.
constexpr std::chrono::milliseconds request_patience{10'000};
/// Of a portion of the log; a larger record is read alone.
constexpr std::size_t portion_bytes = 16 << 20;

/// A client for reading a topic's log, outside any group.
class TopicReader final {
 public:
  explicit TopicReader(const config::Kafka& kafka) : kafka_{kafka} {}

  std::optional<NoRecord> open(const std::string& topic) {
    kafka::ClientSettings wanted;
    wanted.brokers = kafka_.brokers;
    wanted.properties = kafka_.properties_now();
    wanted.properties.try_emplace("fetch.wait.max.ms", "20");  // a reader's end waits for its last fetch
    auto conf = kafka::make_conf(wanted);
    if (!conf) return NoRecord{ExitCode::configuration, conf.problem().message};
    client_log_.attach(conf.value().get());
    auto made = kafka::make_consumer(std::move(conf).value());
    if (!made) return NoRecord{ExitCode::configuration, made.problem().message};
    client_ = std::move(made).value();
    auto described = kafka::describe_topic(client_.get(), topic, request_patience);
    if (described) {
      topic_ = std::move(described).value();
      return std::nullopt;
    }
    if (!kafka::is_unanswered(described.problem())) return NoRecord{ExitCode::no, described.problem().message};
    const auto problem = operations::broker_problem(kafka_.brokers, wanted.properties, client_log_.last_warning());
    const bool is_refused = problem.kind == operations::Finding::Kind::refused;
    return NoRecord{is_refused ? ExitCode::not_allowed : ExitCode::unavailable,
                    problem.subject + ": " + problem.message};
  }

  const kafka::TopicDescription& topic() const { return topic_; }

  base::Result<kafka::LogBounds> bounds(std::int32_t partition) {
    return kafka::log_bounds(client_.get(), {topic_.name, partition}, request_patience);
  }

  /// The records of [from, end).
  base::Result<std::vector<kafka::Message>> read(std::int32_t partition, std::int64_t from, std::int64_t end) {
    std::vector<kafka::Message> out;
    if (from >= end) return out;
    kafka::LogReader reader{client_.get(), {topic_.name, partition}, from};
    while (reader.next() < end) {
      auto chunk = reader.read(end, portion_bytes, request_patience);
      if (!chunk) return chunk.problem();
      for (auto& message : chunk.value().messages) out.push_back(std::move(message));
    }
    return out;
  }

  /// Gives the records of [from, end) until bytes or time are used up: false.
  base::Result<bool> read_within(std::int32_t partition, std::int64_t from, std::int64_t end, std::int64_t& bytes_left,
                                 Clock::time_point deadline, const TakeRecord& take) {
    if (from >= end) return true;
    kafka::LogReader reader{client_.get(), {topic_.name, partition}, from};
    while (reader.next() < end) {
      const auto time_left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (bytes_left <= 0 || time_left.count() <= 0) return false;
      const auto portion = std::min<std::size_t>(portion_bytes, static_cast<std::size_t>(bytes_left));
      const auto chunk = reader.read(end, portion, std::min(request_patience, time_left));
      if (!chunk && Clock::now() >= deadline) return false;
      if (!chunk) return chunk.problem();
      for (const auto& message : chunk.value().messages) {
        bytes_left -= static_cast<std::int64_t>(consumer::size_of(*message));
        give(*message, take);
      }
    }
    return true;
  }

  void give(const rd_kafka_message_t& message, const TakeRecord& take) const {
    base::Arena arena;
    take(consumer::record_of(message, {}, arena), topic_.incarnation);
  }

 private:
  const config::Kafka& kafka_;
  kafka::ClientLog client_log_;
  kafka::Client client_;
  kafka::TopicDescription topic_;
};

NoRecord unreadable(const base::Problem& problem) { return {ExitCode::unavailable, problem.message}; }

/// Keeps the newest messages, oldest first.
void keep_newest(std::vector<kafka::Message>& messages, std::size_t count) {
  const auto order = [](const kafka::Message& message) {
    return std::tuple{rd_kafka_message_timestamp(message.get(), nullptr), message->partition, message->offset};
  };
  std::sort(messages.begin(), messages.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  if (messages.size() > count) messages.erase(messages.begin(), messages.end() - static_cast<std::ptrdiff_t>(count));
}

}  // namespace

std::optional<NoRecord> read_ends(const config::Kafka& kafka, const std::string& topic, const EndLimits& limits,
                                  const TakeRecord& take, EndRead& took) {
  const auto deadline = Clock::now() + limits.time;
  TopicReader reader{kafka};
  if (auto problem = reader.open(topic)) return problem;
  took.partitions = reader.topic().partitions;
  std::int64_t bytes_left = limits.bytes;
  for (std::int32_t partition = 0; partition < took.partitions; ++partition) {
    if (took.is_cut = took.is_cut || Clock::now() >= deadline; took.is_cut) break;
    const auto log = reader.bounds(partition);
    if (!log) return unreadable(log.problem());
    const std::int64_t from = std::max(log.value().low, log.value().high - limits.records);
    const auto read = reader.read_within(partition, from, log.value().high, bytes_left, deadline, take);
    if (!read) return unreadable(read.problem());
    took.is_cut = !read.value();
  }
  return std::nullopt;
}

std::optional<NoRecord> read_record(const config::Kafka& kafka, const std::string& topic, std::int32_t partition,
                                    std::int64_t offset, const TakeRecord& take) {
  TopicReader reader{kafka};
  if (auto problem = reader.open(topic)) return problem;
  const std::string place = kafka::text_of({topic, partition});
  if (partition >= reader.topic().partitions) {
    return NoRecord{ExitCode::no, "topic " + topic + " has the partitions 0 to " +
                                      std::to_string(reader.topic().partitions - 1)};
  }
  const auto log = reader.bounds(partition);
  if (!log) return unreadable(log.problem());
  if (offset < log.value().low || offset >= log.value().high) {
    return NoRecord{ExitCode::no, "Kafka has the offsets " + std::to_string(log.value().low) + " to " +
                                      std::to_string(log.value().high) + " (exclusive) of " + place};
  }
  const auto messages = reader.read(partition, offset, offset + 1);
  if (!messages) return unreadable(messages.problem());
  if (messages.value().empty()) {
    return NoRecord{ExitCode::no, place + "/" + std::to_string(offset) +
                                      " holds no record: it was compacted, or aborted, or is a control record"};
  }
  reader.give(*messages.value().front(), take);
  return std::nullopt;
}

std::optional<NoRecord> read_newest(const config::Kafka& kafka, const std::string& topic, std::int64_t count,
                                    const TakeRecord& take) {
  TopicReader reader{kafka};
  if (auto problem = reader.open(topic)) return problem;
  std::vector<kafka::Message> newest;
  for (std::int32_t partition = 0; partition < reader.topic().partitions; ++partition) {
    const auto log = reader.bounds(partition);
    if (!log) return unreadable(log.problem());
    auto messages = reader.read(partition, std::max(log.value().low, log.value().high - count), log.value().high);
    if (!messages) return unreadable(messages.problem());
    for (auto& message : messages.value()) newest.push_back(std::move(message));
    keep_newest(newest, static_cast<std::size_t>(count));
  }
  if (newest.empty()) return NoRecord{ExitCode::no, "topic " + topic + " has no record"};
  for (const auto& message : newest) reader.give(*message, take);
  return std::nullopt;
}

}  // namespace inboxd::cli
