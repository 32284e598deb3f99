#include "kafka/contacts.hpp"

#include <algorithm>

namespace inboxd::kafka {
namespace {

using namespace std::chrono_literals;

constexpr int question_ms = 300;
constexpr auto question_every = 200ms;
constexpr auto known_question_every = 60s;
constexpr auto forgotten_after = 1h;
constexpr std::size_t most_topics = 1'000;

/// Without a key these send anywhere, so only their behaviour with a key matters.
template <class Partitioner>
Partitioner* partitioner_named(const std::string& name) {
  if (name == "consistent" || name == "consistent_random") return rd_kafka_msg_partitioner_consistent;
  if (name == "fnv1a" || name == "fnv1a_random") return rd_kafka_msg_partitioner_fnv1a;
  return rd_kafka_msg_partitioner_murmur2;
}

}  // namespace

Contacts::Contacts(rd_kafka_t* client, const std::string& partitioner)
    : client_{client}, partitioner_{partitioner_named<Partitioner>(partitioner)} {}

Contacts::~Contacts() {
  for (auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic.handle);
}

Contacts::Topic& Contacts::topic_of(std::string_view name) {
  if (last_ != nullptr && last_name_ == name) return *last_;
  if (topics_.size() >= most_topics) forget_unknown();
  last_name_ = name;
  Topic& topic = topics_[last_name_];
  if (topic.handle == nullptr) topic.handle = rd_kafka_topic_new(client_, last_name_.c_str(), nullptr);
  last_ = &topic;
  return topic;
}

/// A publisher may name any number of topics that do not exist.
void Contacts::forget_unknown() {
  std::erase_if(topics_, [](const auto& entry) {
    const bool is_unknown = entry.second.partitions.empty();
    if (is_unknown) rd_kafka_topic_destroy(entry.second.handle);
    return is_unknown;
  });
  last_ = nullptr;
}

void Contacts::ask(Topic& topic) {
  const auto now = Clock::now();
  if (now < topic.next_question) return;
  topic.next_question = now + question_every;
  const rd_kafka_metadata_t* answer = nullptr;
  if (rd_kafka_metadata(client_, 0, topic.handle, &answer, question_ms) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const int count = answer->topic_cnt == 1 ? answer->topics[0].partition_cnt : 0;
  rd_kafka_metadata_destroy(answer);
  topic.is_known = true;
  topic.partitions.resize(std::max(static_cast<std::size_t>(count), topic.partitions.size()));
  if (count > 0) topic.next_question = now + known_question_every;
  if (now < topic.forgets_at) return;
  topic.forgets_at = now + forgotten_after;
  std::replace(topic.partitions.begin(), topic.partitions.end(), State::acknowledged, State::unknown);
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

bool Contacts::may_send(std::string_view name, std::string_view key) {
  Topic& topic = topic_of(name);
  ask(topic);
  if (!topic.is_known) return false;
  const State* const state = state_of(name, key);
  return state == nullptr || *state != State::open;
}

void Contacts::note_sent(std::int64_t id, std::string_view name, std::string_view key) {
  State* const state = state_of(name, key);
  if (state == nullptr || *state != State::unknown) return;
  *state = State::open;
  open_[id] = state;
}

void Contacts::note_end(std::int64_t id, bool is_acknowledged) {
  if (open_.empty()) return;
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  *found->second = is_acknowledged ? State::acknowledged : State::unknown;
  open_.erase(found);
}

}  // namespace inboxd::kafka
