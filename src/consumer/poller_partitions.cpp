// The poll thread's partitions: assigned, looked up, sought, resumed, revoked.
#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer/poller.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr int seek_wait_ms = 1'000;
constexpr int commit_wait_ms = 3'000;
/// A rejoin disturbs the whole group, so it never repeats at shorter intervals.
constexpr auto rejoin_after = 30s;

kafka::PartitionList list_of(const std::vector<kafka::TopicPartition>& partitions) {
  kafka::PartitionList out = kafka::make_list(partitions.size());
  for (const auto& partition : partitions) kafka::add(out, partition, RD_KAFKA_OFFSET_INVALID);
  return out;
}

}  // namespace

void Poller::on_rebalance(rd_kafka_t* client, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions,
                          void* self) {
  auto* const poller = static_cast<Poller*>(self);
  poller->client_ = client;
  if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    poller->assign(partitions);
  } else {
    poller->revoke(partitions);
  }
}

/// Whether an assignment adds to the earlier assignments.
bool Poller::is_incremental() const {
  return !subscribes() || std::string_view{rd_kafka_rebalance_protocol(client_)} == "COOPERATIVE";
}

/// Assigns and revokes by itself what the group would.
void Poller::follow_share() {
  std::vector<kafka::TopicPartition> gone, added;
  {
    const base::Lock lock{share_mutex_};
    if (!std::exchange(has_share_changed_, false)) return;
    for (const auto& [name, partition] : partitions_) {
      if (!share_.contains(name)) gone.push_back(name);
    }
    for (const auto& name : share_) {
      if (!partitions_.contains(name)) added.push_back(name);
    }
  }
  if (!gone.empty()) revoke(list_of(gone).get());
  if (!added.empty()) assign(list_of(added).get());
}

void Poller::assign(rd_kafka_topic_partition_list_t* partitions) {
  status_.group_joined();
  unjoined_since_ = 0;
  for (int i = 0; i < partitions->cnt; ++i) {
    // A definite offset, so that the library neither fetches the group's nor resets. It is sought before it is read.
    partitions->elems[i].offset = 0;
  }
  // Paused before and after. While the library still ends an earlier assignment, it starts this assignment later, on
  // another thread, and that drops the later pause. Before the first assignment it may not know the partition yet.
  rd_kafka_pause_partitions(client_, partitions);
  if (is_incremental()) {
    const kafka::Error error{rd_kafka_incremental_assign(client_, partitions)};
    if (error != nullptr) complain("consumer.assignment_failed", rd_kafka_error_string(error.get()));
  } else if (const auto error = rd_kafka_assign(client_, partitions); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    complain("consumer.assignment_failed", rd_kafka_err2str(error));
  }
  rd_kafka_pause_partitions(client_, partitions);
  for (int i = 0; i < partitions->cnt; ++i) add({partitions->elems[i].topic, partitions->elems[i].partition});
  log_.info("consumer.partitions_assigned", {{"new", partitions->cnt}, {"all", partitions_.size()}});
  count_partitions();
}

void Poller::add(const kafka::TopicPartition& name) {
  Partition partition;
  partition.assignment = {name, next_generation_++};
  partition.lag.high_watermark.observed_at = partition.lag.assigned_at = Clock::now();
  next_watermarks_ = {};
  partition.queue.reset(rd_kafka_queue_get_partition(client_, name.topic.c_str(), name.partition));
  const std::size_t share = std::hash<std::string>{}(name.topic) + static_cast<std::size_t>(name.partition);
  partition.ingester = ingesters_[share % ingesters_.size()];
  if (partition.queue != nullptr) rd_kafka_queue_forward(partition.queue.get(), partition.ingester->queue());
  status_.assigned(name);
  partition.ingester->send(LookUp{partition.assignment});
  partitions_[name] = std::move(partition);
}

void Poller::revoke(rd_kafka_topic_partition_list_t* partitions) {
  revocations_ += 1;
  const bool lost = rd_kafka_assignment_lost(client_) != 0;
  if (!lost && !leaving_) commit_and_wait(commit_wait_ms);
  for (int i = 0; i < partitions->cnt; ++i) {
    const auto found = partitions_.find({partitions->elems[i].topic, partitions->elems[i].partition});
    if (found == partitions_.end()) continue;
    found->second.ingester->send(Forget{found->second.assignment});
    status_.revoked(found->first);
    partitions_.erase(found);
  }
  if (partitions_.empty()) {
    if (subscribes()) unjoined_since_ = Clock::now().time_since_epoch().count();
    lower_.reset();
  }
  if (is_incremental()) {
    const kafka::Error error{rd_kafka_incremental_unassign(client_, partitions)};
    if (error != nullptr) complain("consumer.unassignment_failed", rd_kafka_error_string(error.get()));
  } else {
    rd_kafka_assign(client_, nullptr);
  }
  log_.info("consumer.partitions_revoked", {{"gone", partitions->cnt}, {"left", partitions_.size()}, {"lost", lost}});
  count_partitions();
}

Poller::Partition* Poller::current(const Assignment& assignment) {
  const auto found = partitions_.find(assignment.partition);
  if (found == partitions_.end() || found->second.assignment.generation != assignment.generation) return nullptr;
  if (found->second.assignment.lookup != assignment.lookup) return nullptr;
  return &found->second;
}

/// The only place that shows and logs a state.
void Poller::act(Partition& partition, PartitionLife::Action action) {
  const kafka::TopicPartition& name = partition.assignment.partition;
  const auto state = partition.life.state();
  if (status_.set_state(name, state)) {
    log_.debug("daemon.state_changed",
               {{"part", "poller"}, {"topic", name.topic}, {"partition", name.partition}, {"state", name_of(state)}});
  }
  if (action == PartitionLife::Action::pause) pause(partition);
  if (action != PartitionLife::Action::look_up) return;
  // Paused before the message is sent: records read after the message belong to the position that is looked up.
  pause(partition);
  partition.assignment.lookup += 1;
  partition.ingester->send(LookUp{partition.assignment});
}

void Poller::pause(const Partition& partition) {
  const kafka::PartitionList list = kafka::make_list(1);
  kafka::add(list, partition.assignment.partition, RD_KAFKA_OFFSET_INVALID);
  rd_kafka_pause_partitions(client_, list.get());
}

void Poller::request_due_look_ups() {
  const auto now = Clock::now();
  for (auto& [name, partition] : partitions_) act(partition, partition.life.time_passed(now));
}

void Poller::seek_and_resume(const Found& found) {
  const kafka::PartitionList seek = kafka::make_list(found.size());
  for (const auto& [name, answer] : found) kafka::add(seek, name, answer.offset, answer.leader_epoch);
  const kafka::Error error{rd_kafka_seek_partitions(client_, seek.get(), seek_wait_ms)};
  const kafka::PartitionList resume = kafka::make_list(found.size());
  // The group's offset follows the position at once, even if no record comes for long: an earlier commit may have been
  // refused, and an operator or a restored database may have moved the position.
  const kafka::PartitionList offsets = kafka::make_list(found.size());
  bool has_ended = false;
  const rd_kafka_topic_partition_t* sought = seek->elems;
  for (const auto& [name, answer] : found) {
    Partition& partition = partitions_.at(name);
    const auto code = (sought++)->err;
    if (error != nullptr || code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      log_.debug("consumer.seek_failed",
                 {{"topic", name.topic}, {"partition", name.partition}, {"error", rd_kafka_err2str(code)}});
      const auto action = partition.life.seek_refused(code == RD_KAFKA_RESP_ERR__STATE, Clock::now());
      if (action != PartitionLife::Action::rejoin || Clock::now() < next_rejoin_) continue;
      has_ended = true;
      if (partition.life.is_halted()) continue;
      log_.warn("consumer.fetch_ended",
                {{"topic", name.topic}, {"partition", name.partition}, {"offset", answer.offset}});
      continue;
    }
    partition.life.sought(answer.was_halted);
    act(partition, PartitionLife::Action::none);
    partition.lag.found(true);
    kafka::add(resume, name, RD_KAFKA_OFFSET_INVALID);
    set_metadata(*kafka::add(offsets, name, answer.offset, answer.leader_epoch), answer.commit_metadata);
    if (answer.is_behind_group) {
      if (lower_ == nullptr) lower_ = kafka::make_list(found.size());
      set_metadata(*kafka::add(lower_, name, answer.offset, answer.leader_epoch), answer.commit_metadata);
    }
    log_.debug("consumer.reading", {{"topic", name.topic}, {"partition", name.partition}, {"offset", answer.offset}});
  }
  if (offsets->cnt > 0) rd_kafka_offsets_store(client_, offsets.get());  // before an ingester stores later offsets
  // Committed explicitly: of the stored offsets the library commits only offsets above its last commit.
  if (lower_ != nullptr) commit();
  if (resume->cnt > 0) rd_kafka_resume_partitions(client_, resume.get());
  if (has_ended) rejoin_group();
}

void Poller::rejoin_group() {
  // After an offset out of range the library ends the fetching of that partition for good: a new assignment restarts
  // it, a seek does not. It reports this once, and an ingester that does not read the partition at that moment drops
  // the report. This is rare, so it may cost a rebalance.
  next_rejoin_ = Clock::now() + rejoin_after;
  log_.info("consumer.rejoining");
  if (!subscribes()) {
    std::vector<kafka::TopicPartition> all;
    all.reserve(partitions_.size());
    for (const auto& [name, partition] : partitions_) all.push_back(name);
    revoke(list_of(all).get());
    const base::Lock lock{share_mutex_};
    has_share_changed_ = true;
    return;
  }
  rd_kafka_unsubscribe(client_);
  subscribe();
}

}  // namespace inboxd::consumer
