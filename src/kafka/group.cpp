#include "kafka/group.hpp"

#include <exception>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::kafka {
namespace {

constexpr std::chrono::seconds repeat_after{30};
constexpr Timeout recent_timeout{5'000};
constexpr std::chrono::seconds longest_end{2};
constexpr int beyond_limit = 60'000;  ///< ms

GroupMember read_member(const rd_kafka_MemberDescription_t* member) {
  GroupMember out{rd_kafka_MemberDescription_consumer_id(member), rd_kafka_MemberDescription_client_id(member),
                  rd_kafka_MemberDescription_host(member), {}};
  const rd_kafka_MemberAssignment_t* const assignment = rd_kafka_MemberDescription_assignment(member);
  const rd_kafka_topic_partition_list_t* const partitions =
      assignment == nullptr ? nullptr : rd_kafka_MemberAssignment_partitions(assignment);
  if (partitions == nullptr) return out;
  for (const auto& each : std::span{partitions->elems, static_cast<std::size_t>(partitions->cnt)}) {
    out.partitions.push_back({each.topic, each.partition});
  }
  return out;
}

}  // namespace

base::Result<Client> make_asking_client(ClientSettings settings) {
  settings.properties["enable.metrics.push"] = "false";  // closing would wait for a last push
  auto conf = make_conf(settings);
  if (!conf) return conf.problem();
  rd_kafka_conf_set_log_cb(conf.value().get(), nullptr);
  return make_consumer(std::move(conf).value());
}

base::Result<std::vector<GroupMember>> describe_group(ClientSettings settings, const std::string& group,
                                                      Timeout timeout) {
  const std::string what = "group " + group;
  const auto client = make_asking_client(std::move(settings));
  if (!client) return client.problem();
  rd_kafka_t* const asking = client.value().get();
  const std::unique_ptr<rd_kafka_AdminOptions_t, Destroy> options{
      rd_kafka_AdminOptions_new(asking, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS)};
  char error[256];
  const auto limit = static_cast<int>(timeout.count());
  // The library must not give up before the client ends: see the header.
  rd_kafka_AdminOptions_set_request_timeout(options.get(), limit + beyond_limit, error, sizeof error);
  const Queue queue{rd_kafka_queue_new(asking)};
  const char* name = group.c_str();
  rd_kafka_DescribeConsumerGroups(asking, &name, 1, options.get(), queue.get());
  const std::unique_ptr<rd_kafka_event_t, Destroy> event{rd_kafka_queue_poll(queue.get(), limit)};
  if (event == nullptr) return base::Problem{what + ": no answer", rd_kafka_err2name(RD_KAFKA_RESP_ERR__TIMED_OUT)};
  if (const auto code = rd_kafka_event_error(event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return base::Problem{what + ": " + rd_kafka_event_error_string(event.get()), rd_kafka_err2name(code)};
  }
  std::size_t count = 0;
  const auto** const groups = rd_kafka_DescribeConsumerGroups_result_groups(
      rd_kafka_event_DescribeConsumerGroups_result(event.get()), &count);
  std::vector<GroupMember> out;
  if (count == 0) return out;
  const rd_kafka_error_t* const refused = rd_kafka_ConsumerGroupDescription_error(groups[0]);
  if (refused != nullptr && rd_kafka_error_code(refused) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return base::Problem{what + ": " + rd_kafka_error_string(refused), rd_kafka_error_name(refused)};
  }
  const std::size_t members = rd_kafka_ConsumerGroupDescription_member_count(groups[0]);
  for (std::size_t i = 0; i < members; ++i) {
    out.push_back(read_member(rd_kafka_ConsumerGroupDescription_member(groups[0], i)));
  }
  return out;
}

struct RecentMembers::Question {
  base::Mutex mutex;
  base::Condition ended;
  bool is_running GUARDED_BY(mutex) = false;
  std::optional<std::vector<GroupMember>> answer GUARDED_BY(mutex);
};

RecentMembers::RecentMembers() : question_{std::make_shared<Question>()} {}

RecentMembers::~RecentMembers() {
  base::Lock lock{question_->mutex};
  const auto until = Clock::now() + longest_end;
  while (question_->is_running && Clock::now() < until) question_->ended.wait_until(lock, until);
}

std::optional<std::vector<GroupMember>> RecentMembers::ask(const ClientSettings& settings, const std::string& group,
                                                           Clock::time_point now) {
  const base::Lock lock{question_->mutex};
  if (now < next_ || question_->is_running) return question_->answer;
  next_ = now + repeat_after;
  const auto run = [question = question_, settings, group] {
    std::optional<std::vector<GroupMember>> found;
    try {
      if (auto members = describe_group(settings, group, recent_timeout)) found = std::move(members).value();
    } catch (const std::exception&) {  // no memory or thread: asked again later
    }
    const base::Lock answered{question->mutex};
    if (found) question->answer = std::move(found);
    question->is_running = false;
    question->ended.notify_all();
  };
  try {
    std::thread{run}.detach();
    question_->is_running = true;  // the thread waits for the lock before it says that it has ended
  } catch (const std::system_error&) {  // no thread: asked again later
  }
  return question_->answer;
}

}  // namespace inboxd::kafka
