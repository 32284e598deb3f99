#include "kafka/contacts.hpp"

#include <algorithm>
#include <cassert>
#include <memory>

namespace inboxd::kafka {
namespace {

using namespace std::chrono_literals;

constexpr auto question_interval = 200ms;
constexpr int question_timeout_ms = 1'000;
constexpr auto missing_question_interval = 1s;
constexpr auto known_question_interval = 60s;
constexpr auto forgotten_after = 1h;
constexpr std::size_t max_topics = 20'000;

/// Without a key these send anywhere, so only their behaviour with a key matters.
template <class Partitioner>
Partitioner* partitioner_named(const std::string& name) {
  if (name == "consistent" || name == "consistent_random") return rd_kafka_msg_partitioner_consistent;
  if (name == "fnv1a" || name == "fnv1a_random") return rd_kafka_msg_partitioner_fnv1a;
  return rd_kafka_msg_partitioner_murmur2;
}

}  // namespace

Contacts::Contacts(rd_kafka_t* client, const std::string& partitioner)
    : client_{client},
      partitioner_{partitioner_named<Partitioner>(partitioner)},
      answers_{rd_kafka_queue_new(client)} {}

Contacts::~Contacts() {
  for (auto& [name, topic] : topics_) {
    if (topic.handle != nullptr) rd_kafka_topic_destroy(topic.handle);
  }
}

Contacts::Topic& Contacts::topic_of(std::string_view name) {
  if (last_ != nullptr && last_name_ == name) return *last_;
  last_name_ = name;
  last_ = &topics_[last_name_];
  return *last_;
}

/// A publisher may name any number of topics that do not exist.
void Contacts::forget_missing() {
  std::erase_if(topics_, [](const auto& entry) { return entry.second.partitions.empty(); });
  last_ = nullptr;
}

void Contacts::learn(const std::set<std::string_view>& topics, std::chrono::milliseconds longest) {
  if (topics_.size() >= max_topics) forget_missing();
  const auto now = Clock::now();
  std::vector<std::string> names;
  for (const std::string_view name : topics) {
    Topic& topic = topic_of(name);
    if (now < topic.next_question) continue;
    topic.next_question = now + question_interval;
    names.emplace_back(name);
  }
  if (names.empty()) return;
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  const std::unique_ptr<rd_kafka_TopicCollection_t, Destroy> asked{
      rd_kafka_TopicCollection_of_topic_names(pointers.data(), pointers.size())};
  const std::unique_ptr<rd_kafka_AdminOptions_t, Destroy> options{
      rd_kafka_AdminOptions_new(client_, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS)};
  rd_kafka_AdminOptions_set_request_timeout(options.get(), question_timeout_ms, nullptr, 0);
  rd_kafka_DescribeTopics(client_, asked.get(), options.get(), answers_.get());
  // An answer that comes too late is read by the next question.
  const auto end = now + longest;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    const std::unique_ptr<rd_kafka_event_t, Destroy> answer{
        rd_kafka_queue_poll(answers_.get(), static_cast<int>(std::max<std::int64_t>(left, 0)))};
    if (answer == nullptr) return;
    note_answer(answer.get(), now);
  } while (!topic_of(names.back()).is_known);
}

void Contacts::note_answer(const rd_kafka_event_t* answer, Clock::time_point now) {
  const rd_kafka_DescribeTopics_result_t* const result =
      rd_kafka_event_DescribeTopics_result(const_cast<rd_kafka_event_t*>(answer));
  if (result == nullptr || rd_kafka_event_error(const_cast<rd_kafka_event_t*>(answer)) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  std::size_t count = 0;
  const rd_kafka_TopicDescription_t** const about = rd_kafka_DescribeTopics_result_topics(result, &count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = rd_kafka_TopicDescription_name(about[i]);
    note_description(topic_of(name), name, about[i], now);
  }
}

void Contacts::note_description(Topic& topic, const std::string& name, const rd_kafka_TopicDescription_t* about,
                                Clock::time_point now) {
  std::size_t count = 0;
  topic.error = rd_kafka_error_code(rd_kafka_TopicDescription_error(about));
  if (topic.error == RD_KAFKA_RESP_ERR_NO_ERROR) rd_kafka_TopicDescription_partitions(about, &count);
  if (!topic.is_known || (topic.missing_since == Clock::time_point{} && count == 0)) topic.missing_since = now;
  topic.is_known = true;
  topic.partitions.resize(std::max(count, topic.partitions.size()));
  topic.next_question = now + missing_question_interval;
  if (count == 0) return;
  topic.missing_since = {};
  topic.next_question = now + known_question_interval;
  if (topic.handle == nullptr) topic.handle = rd_kafka_topic_new(client_, name.c_str(), nullptr);
  if (now < topic.forgets_at) return;
  topic.forgets_at = now + forgotten_after;
  for (State& state : topic.partitions) {
    if (state == State::acknowledged) change(state, State::unknown);
  }
}

void Contacts::change(State& state, State to) {
  assert(to == State::unknown ? state != to : to == State::open ? state == State::unknown : state == State::open);
  state = to;
}

std::string Contacts::error_of(std::string_view name) {
  const auto error = topic_of(name).error;
  const auto code = error == RD_KAFKA_RESP_ERR_NO_ERROR ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : error;
  return std::string{rd_kafka_err2name(code)} + ": " + rd_kafka_err2str(code);
}

std::int32_t Contacts::partition_of(std::string_view name, std::string_view key) {
  const Topic& topic = topic_of(name);
  if (topic.partitions.empty()) return RD_KAFKA_PARTITION_UA;
  return partitioner_(topic.handle, key.data(), key.size(), static_cast<std::int32_t>(topic.partitions.size()), nullptr,
                      nullptr);
}

Contacts::State* Contacts::state_of(std::string_view name, std::string_view key) {
  const std::int32_t partition = partition_of(name, key);
  return partition < 0 ? nullptr : &topic_of(name).partitions[static_cast<std::size_t>(partition)];
}

Readiness Contacts::readiness(std::string_view name, std::string_view key) {
  const Topic& topic = topic_of(name);
  if (!topic.is_known) return Readiness::unanswered;
  if (topic.partitions.empty()) return Readiness::missing;
  const State* const state = state_of(name, key);
  return state != nullptr && *state == State::open ? Readiness::busy : Readiness::ready;
}

void Contacts::note_sent(std::int64_t id, std::string_view name, std::string_view key) {
  State* const state = state_of(name, key);
  if (state == nullptr || *state != State::unknown) return;
  change(*state, State::open);
  open_[id] = state;
}

void Contacts::note_end(std::int64_t id, bool is_acknowledged) {
  if (open_.empty()) return;
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  change(*found->second, is_acknowledged ? State::acknowledged : State::unknown);
  open_.erase(found);
}

}  // namespace inboxd::kafka
