#include "kafka/contacts.hpp"

namespace inboxd::kafka {
namespace {

using namespace std::chrono_literals;

constexpr int question_ms = 300;
constexpr auto question_every = 200ms;
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
  if (Clock::now() < topic.next_question) return;
  topic.next_question = Clock::now() + question_every;
  const rd_kafka_metadata_t* answer = nullptr;
  if (rd_kafka_metadata(client_, 0, topic.handle, &answer, question_ms) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  if (answer->topic_cnt == 1) topic.partitions.resize(static_cast<std::size_t>(answer->topics[0].partition_cnt));
  topic.is_known = true;
  rd_kafka_metadata_destroy(answer);
}

Contacts::State* Contacts::state_of(std::string_view name, std::string_view key) {
  Topic& topic = topic_of(name);
  if (topic.partitions.empty() || topic.handle == nullptr) return nullptr;
  const auto count = static_cast<std::int32_t>(topic.partitions.size());
  return &topic.partitions[static_cast<std::size_t>(
      partitioner_(topic.handle, key.data(), key.size(), count, nullptr, nullptr))];
}

bool Contacts::may_send(std::string_view name, std::string_view key) {
  Topic& topic = topic_of(name);
  if (topic.partitions.empty()) ask(topic);
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
