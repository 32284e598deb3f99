#include "kafka/topic_retention.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

namespace inboxd::kafka {
namespace {

using Event = std::unique_ptr<rd_kafka_event_t, Destroy>;
using Resource = std::unique_ptr<rd_kafka_ConfigResource_t, Destroy>;

TopicRetention read_retention(const rd_kafka_ConfigResource_t* resource) {
  std::size_t count = 0;
  const auto** const entries = rd_kafka_ConfigResource_configs(resource, &count);
  TopicRetention out;
  bool deletes = true;
  for (const auto* entry : std::span{entries, count}) {
    const std::string_view name = rd_kafka_ConfigEntry_name(entry);
    const char* const value = rd_kafka_ConfigEntry_value(entry);
    if (value == nullptr) continue;
    if (name == "cleanup.policy") deletes = std::string_view{value}.find("delete") != std::string_view::npos;
    if (name == "retention.ms" && std::atoll(value) >= 0) out = std::chrono::milliseconds{std::atoll(value)};
  }
  return deletes ? out : std::nullopt;
}

/// Reads the configuration of each topic that this user may read.
template <class Read>
std::optional<base::Problem> describe(rd_kafka_t* client, const std::vector<std::string>& topics,
                                      std::chrono::milliseconds timeout, Read read) {
  if (topics.empty()) return std::nullopt;
  std::vector<Resource> resources;
  std::vector<rd_kafka_ConfigResource_t*> list;
  for (const std::string& topic : topics) {
    resources.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
    list.push_back(resources.back().get());
  }
  const std::unique_ptr<rd_kafka_AdminOptions_t, Destroy> options{
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)};
  char error[256];
  const int patience = static_cast<int>(timeout.count());
  rd_kafka_AdminOptions_set_request_timeout(options.get(), patience, error, sizeof error);
  const Queue queue{rd_kafka_queue_new(client)};
  rd_kafka_DescribeConfigs(client, list.data(), list.size(), options.get(), queue.get());
  const Event event{rd_kafka_queue_poll(queue.get(), patience)};
  const auto failed = event == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event.get());
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return base::Problem{std::string{"configuration of topics: "} + rd_kafka_err2str(failed),
                         rd_kafka_err2name(failed)};
  }
  std::size_t count = 0;
  const auto** const found =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  for (const auto* resource : std::span{found, count}) {
    if (rd_kafka_ConfigResource_error(resource) == RD_KAFKA_RESP_ERR_NO_ERROR) read(resource);
  }
  return std::nullopt;
}

}  // namespace

base::Result<std::map<std::string, TopicRetention>> topic_retentions(rd_kafka_t* client,
                                                                     const std::vector<std::string>& topics,
                                                                     std::chrono::milliseconds timeout) {
  std::map<std::string, TopicRetention> out;
  const auto problem = describe(client, topics, timeout, [&](const rd_kafka_ConfigResource_t* resource) {
    out[rd_kafka_ConfigResource_name(resource)] = read_retention(resource);
  });
  if (problem) return *problem;
  return out;
}

base::Result<std::map<std::string, std::int64_t>> topic_numbers(rd_kafka_t* client,
                                                                const std::vector<std::string>& topics,
                                                                const std::string& property,
                                                                std::chrono::milliseconds timeout) {
  std::map<std::string, std::int64_t> out;
  const auto problem = describe(client, topics, timeout, [&](const rd_kafka_ConfigResource_t* resource) {
    std::size_t count = 0;
    const auto** const entries = rd_kafka_ConfigResource_configs(resource, &count);
    for (const auto* entry : std::span{entries, count}) {
      const char* const value = rd_kafka_ConfigEntry_value(entry);
      if (value == nullptr || property != rd_kafka_ConfigEntry_name(entry)) continue;
      out[rd_kafka_ConfigResource_name(resource)] = std::atoll(value);
    }
  });
  if (problem) return *problem;
  return out;
}

}  // namespace inboxd::kafka
