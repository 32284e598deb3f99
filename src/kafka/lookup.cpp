#include "kafka/lookup.hpp"

#include <span>

namespace inboxd::kafka {
namespace {

int milliseconds(Timeout timeout) { return static_cast<int>(timeout.count()); }

base::Problem problem(const std::string& what, rd_kafka_resp_err_t error) {
  return {what + ": " + rd_kafka_err2str(error), rd_kafka_err2name(error)};
}

base::Problem problem(const std::string& what, const rd_kafka_error_t* error) {
  return {what + ": " + rd_kafka_error_string(error), rd_kafka_error_name(error)};
}

using Event = std::unique_ptr<rd_kafka_event_t, Destroy>;

TopicDescription read_description(const rd_kafka_TopicDescription_t* description) {
  TopicDescription out;
  out.name = rd_kafka_TopicDescription_name(description);
  std::size_t count = 0;
  const auto** const partitions = rd_kafka_TopicDescription_partitions(description, &count);
  out.partitions = static_cast<int>(count);
  for (const auto* partition : std::span{partitions, count}) {
    if (rd_kafka_TopicPartitionInfo_leader(partition) != nullptr) continue;
    out.leaderless.insert(rd_kafka_TopicPartitionInfo_partition(partition));
  }
  const rd_kafka_Uuid_t* const id = rd_kafka_TopicDescription_topic_id(description);
  if (id != nullptr &&
      (rd_kafka_Uuid_most_significant_bits(id) != 0 || rd_kafka_Uuid_least_significant_bits(id) != 0)) {
    out.incarnation = rd_kafka_Uuid_base64str(id);
  }
  return out;
}

bool has_failed(const rd_kafka_TopicDescription_t* description) {
  const rd_kafka_error_t* const error = rd_kafka_TopicDescription_error(description);
  return error != nullptr && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/// The answer to a DescribeTopics request; `what` starts the problem's text.
base::Result<Event> ask_descriptions(rd_kafka_t* client, const std::vector<std::string>& names, const std::string& what,
                                     Timeout timeout) {
  std::vector<const char*> list;
  for (const std::string& name : names) list.push_back(name.c_str());
  const std::unique_ptr<rd_kafka_TopicCollection_t, Destroy> topics{
      rd_kafka_TopicCollection_of_topic_names(list.data(), list.size())};
  const std::unique_ptr<rd_kafka_AdminOptions_t, Destroy> options{
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS)};
  char error[256];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), milliseconds(timeout), error, sizeof error);
  const Queue queue{rd_kafka_queue_new(client)};
  rd_kafka_DescribeTopics(client, topics.get(), options.get(), queue.get());
  Event event{rd_kafka_queue_poll(queue.get(), milliseconds(timeout))};
  if (event == nullptr) return problem(what, RD_KAFKA_RESP_ERR__TIMED_OUT);
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return base::Problem{what + ": " + rd_kafka_event_error_string(event.get()),
                         rd_kafka_err2name(rd_kafka_event_error(event.get()))};
  }
  return event;
}

std::span<const rd_kafka_TopicDescription_t*> descriptions_of(const Event& event) {
  std::size_t count = 0;
  const auto** const first =
      rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event.get()), &count);
  return {first, count};
}

}  // namespace

// Names of the library's own errors start with `_`; REQUEST_TIMED_OUT comes from a broker that was too slow.
bool is_unanswered(const base::Problem& problem) {
  return problem.code.starts_with('_') || problem.code == "REQUEST_TIMED_OUT";
}

base::Result<TopicDescription> describe_topic(rd_kafka_t* client, const std::string& topic, Timeout timeout) {
  const std::string what = "topic " + topic;
  const auto answer = ask_descriptions(client, {topic}, what, timeout);
  if (!answer) return answer.problem();
  const auto descriptions = descriptions_of(answer.value());
  if (descriptions.empty()) return problem(what, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  const rd_kafka_error_t* const failed = rd_kafka_TopicDescription_error(descriptions[0]);
  if (has_failed(descriptions[0])) return problem(what, failed);
  return read_description(descriptions[0]);
}

base::Result<bool> has_topic(rd_kafka_t* client, const std::string& topic, Timeout timeout) {
  const std::string what = "topic " + topic;
  const auto answer = ask_descriptions(client, {topic}, what, timeout);
  if (!answer) return answer.problem();
  const auto descriptions = descriptions_of(answer.value());
  if (descriptions.empty() || !has_failed(descriptions[0])) return !descriptions.empty();
  const rd_kafka_error_t* const failed = rd_kafka_TopicDescription_error(descriptions[0]);
  if (rd_kafka_error_code(failed) == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return false;
  return problem(what, failed);
}

base::Result<std::vector<TopicDescription>> describe_topics(rd_kafka_t* client, const std::vector<std::string>& topics,
                                                            Timeout timeout) {
  std::vector<TopicDescription> out;
  if (topics.empty()) return out;
  const auto answer = ask_descriptions(client, topics, std::to_string(topics.size()) + " topics", timeout);
  if (!answer) return answer.problem();
  for (const rd_kafka_TopicDescription_t* description : descriptions_of(answer.value())) {
    if (!has_failed(description)) out.push_back(read_description(description));
  }
  return out;
}

base::Result<std::vector<std::string>> list_topics(rd_kafka_t* client, Timeout timeout) {
  const rd_kafka_metadata_t* raw = nullptr;
  const auto error = rd_kafka_metadata(client, 1, nullptr, &raw, milliseconds(timeout));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return problem("brokers", error);
  const std::unique_ptr<const rd_kafka_metadata_t, Destroy> metadata{raw};
  std::vector<std::string> out;
  for (int i = 0; i < metadata->topic_cnt; ++i) out.emplace_back(metadata->topics[i].topic);
  return out;
}

base::Result<LogBounds> log_bounds(rd_kafka_t* client, const TopicPartition& partition, Timeout timeout) {
  LogBounds out;
  const auto error = rd_kafka_query_watermark_offsets(client, partition.topic.c_str(), partition.partition, &out.low,
                                                      &out.high, milliseconds(timeout));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return problem(text_of(partition), error);
  return out;
}

base::Result<std::int64_t> offset_at(rd_kafka_t* client, const TopicPartition& partition, std::int64_t time_us,
                                     Timeout timeout) {
  const PartitionList list = make_list(1);
  auto* const entry = add(list, partition, time_us / 1000);
  auto error = rd_kafka_offsets_for_times(client, list.get(), milliseconds(timeout));
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = entry->err;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return problem(text_of(partition), error);
  if (entry->offset >= 0) return entry->offset;
  auto bounds = log_bounds(client, partition, timeout);
  if (!bounds) return bounds.problem();
  return bounds.value().high;
}

base::Result<std::map<std::int32_t, std::int64_t>> committed_offsets(rd_kafka_t* client, const std::string& topic,
                                                                     int partitions, Timeout timeout) {
  const PartitionList list = make_list(static_cast<std::size_t>(partitions));
  for (std::int32_t i = 0; i < partitions; ++i) add(list, {topic, i}, RD_KAFKA_OFFSET_INVALID);
  const auto error = rd_kafka_committed(client, list.get(), milliseconds(timeout));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return problem("topic " + topic, error);
  std::map<std::int32_t, std::int64_t> out;
  for (const auto& entry : std::span{list->elems, static_cast<std::size_t>(list->cnt)}) {
    if (entry.err != RD_KAFKA_RESP_ERR_NO_ERROR) return problem(text_of({topic, entry.partition}), entry.err);
    if (entry.offset >= 0) out[entry.partition] = entry.offset;
  }
  return out;
}

base::Result<std::optional<CommittedOffset>> committed_offset(rd_kafka_t* client, const TopicPartition& partition,
                                                           Timeout timeout) {
  const PartitionList list = make_list(1);
  auto* const entry = add(list, partition, RD_KAFKA_OFFSET_INVALID);
  auto error = rd_kafka_committed(client, list.get(), milliseconds(timeout));
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = entry->err;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return problem(text_of(partition), error);
  if (entry->offset < 0) return std::optional<CommittedOffset>{};
  CommittedOffset out{entry->offset, ""};
  if (entry->metadata != nullptr) out.metadata.assign(static_cast<const char*>(entry->metadata), entry->metadata_size);
  return std::optional{out};
}

}  // namespace inboxd::kafka
