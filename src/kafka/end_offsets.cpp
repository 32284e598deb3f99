#include "kafka/end_offsets.hpp"

#include <span>

namespace inboxd::kafka {

void EndOffsetsRequest::send(rd_kafka_t* client, const std::vector<TopicPartition>& partitions, Timeout timeout,
                             End which) {
  const PartitionList list = make_list(partitions.size());
  for (const TopicPartition& partition : partitions) add(list, partition, RD_KAFKA_OFFSET_SPEC_LATEST);
  const std::unique_ptr<rd_kafka_AdminOptions_t, Destroy> options{
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_LISTOFFSETS)};
  char error[256];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), static_cast<int>(timeout.count()), error, sizeof error);
  const std::unique_ptr<rd_kafka_error_t, Destroy> refused{rd_kafka_AdminOptions_set_isolation_level(
      options.get(), which == End::high_watermark ? RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED
                                                  : RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED)};
  answers_.reset(rd_kafka_queue_new(client));
  rd_kafka_ListOffsets(client, list.get(), options.get(), answers_.get());
}

std::optional<base::Result<EndOffsetsRequest::Offsets>> EndOffsetsRequest::take(Timeout longest) {
  if (answers_ == nullptr) return std::nullopt;
  const auto limit = static_cast<int>(longest.count());
  const std::unique_ptr<rd_kafka_event_t, Destroy> answer{rd_kafka_queue_poll(answers_.get(), limit)};
  if (answer == nullptr) return std::nullopt;
  answers_.reset();
  if (rd_kafka_event_error(answer.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return base::Problem{rd_kafka_event_error_string(answer.get())};
  }
  std::size_t count = 0;
  const auto** const first = rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(answer.get()), &count);
  Offsets out;
  for (const auto* info : std::span{first, count}) {
    const rd_kafka_topic_partition_t* const end = rd_kafka_ListOffsetsResultInfo_topic_partition(info);
    if (end->err == RD_KAFKA_RESP_ERR_NO_ERROR && end->offset >= 0) out[{end->topic, end->partition}] = end->offset;
  }
  return out;
}

base::Result<EndOffsetsRequest::Offsets> high_watermarks(rd_kafka_t* client,
                                                         const std::vector<TopicPartition>& partitions,
                                                         Timeout timeout) {
  if (partitions.empty()) return EndOffsetsRequest::Offsets{};
  EndOffsetsRequest request;
  request.send(client, partitions, timeout);
  auto answer = request.take(timeout);
  if (!answer) return base::Problem{"ends of partitions: no answer", rd_kafka_err2name(RD_KAFKA_RESP_ERR__TIMED_OUT)};
  if (*answer && answer->value().size() != partitions.size()) return base::Problem{"ends of partitions are missing"};
  return std::move(*answer);
}

}  // namespace inboxd::kafka
