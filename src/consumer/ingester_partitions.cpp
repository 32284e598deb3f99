// An ingester's shards: looked up, doubted, halted, read again, forgotten.
#include "consumer/ingester.hpp"
#include "consumer/position_lookup.hpp"
#include "formats/topic_decoder.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "inbox/problem_text.hpp"

namespace inboxd::consumer {
namespace {

/// Corrupt reads of a partition in a row before it is halted. The network may damage a read; each further read takes a
/// rebalance, because the client library does not retry.
constexpr int max_corrupt_reads = 2;

}  // namespace

void Ingester::handle(const LookUp& message) {
  const kafka::TopicPartition& partition = message.assignment.partition;
  Shard& shard = shards_[partition];
  shard.assignment = message.assignment;
  shard.change(Shard::State::looking_up);
  const auto failure = inbox::failure_of([&] {
    const auto result = look_up(
        connection_, context_.clients, context_.topics, partition, context_.recreated.id_of(partition.topic),
        [this] { beat(); }, context_.log);
    if (const auto* ready = std::get_if<Ready>(&result)) {
      hand_off_assignment(shard, ready->position.shard_id);
      shard.position = ready->position;
      shard.halted_reason = ready->position.halted_reason;
      shard.has_read = false;
      shard.first_fetch_check.restart();
      shard.stall_detector.restart(std::chrono::steady_clock::now());
      shard.rules = {*ready->topic, context_.settings.kafka.name_space, ready->position.log_id,
                     context_.decoders.of(*ready->topic)};
      shard.place = std::make_shared<const inbox::Place>(inbox::Place{partition.topic, partition.partition});
      shard.change(Shard::State::reading);
      context_.status.advanced(partition, ready->position.next_offset, 0);
      const bool is_behind =
          group_offset_check_.is_ahead(context_.clients.member, partition, ready->position, context_.log);
      context_.poller.send(PositionFound{message.assignment, ready->position.next_offset, ready->position.leader_epoch,
                                         shard.halted_reason.has_value(), is_behind,
                                         commit_metadata(ready->position)});
    } else if (const auto* halted = std::get_if<HaltedShard>(&result)) {
      context_.log.debug("consumer.still_halted",
                         {{"topic", partition.topic}, {"partition", partition.partition}, {"reason", halted->reason}});
      shard.change(Shard::State::halted);
      shard.position = halted->position.value_or(inbox::ShardPosition{});
      if (halted->position) context_.status.advanced(partition, halted->position->next_offset, 0);
      context_.poller.send(Halted{message.assignment, shard.has_lag()});
    } else {
      const auto& [reason, is_unanswered] = std::get<NotNow>(result);
      if (is_unanswered) context_.status.unanswered();
      context_.status.not_found(partition, reason);
      if (repeats_.is_news(partition.topic + "/" + std::to_string(partition.partition) + reason)) {
        context_.log.warn("consumer.position_unknown",
                          {{"topic", partition.topic}, {"partition", partition.partition}, {"reason", reason}});
      }
      context_.poller.send(LookUpFailed{message.assignment});
    }
  });
  if (!failure) return;
  // Logged once: a database that is away gives the same error for every partition.
  if (repeats_.is_news(failure->sqlstate + failure->message)) {
    context_.log.warn("consumer.position_lookup_failed", {{"topic", partition.topic},
                                                          {"partition", partition.partition},
                                                          {"fault", name_of(failure->fault)},
                                                          {"error", failure->message}});
  }
  context_.poller.send(LookUpFailed{message.assignment});
}

void Ingester::handle(const Forget& message) {
  const auto found = shards_.find(message.assignment.partition);
  if (found == shards_.end() || found->second.assignment.generation != message.assignment.generation) return;
  by_source_.clear();
  hand_off_assignment(found->second, 0);
  shards_.erase(found);
}

void Ingester::forget_all() {
  for (auto& [partition, shard] : shards_) hand_off_assignment(shard, 0);
}

/// Tells the dispatcher which shard is read for a partition from now on; 0: none.
void Ingester::hand_off_assignment(Shard& shard, std::int32_t shard_id) {
  const std::int32_t before = std::exchange(shard.assigned_shard, shard_id);
  if (before == shard_id) return;
  if (before != 0) context_.hand_off.revoked(before);
  if (shard_id != 0) context_.hand_off.assigned(shard_id);
}

void Ingester::look_up_all_again() {
  for (auto& [partition, shard] : shards_) {
    if (shard.is_read()) look_up_again(shard);
  }
  looks_up_all_ = false;
}

bool Ingester::passes_first_fetch_check(Shard& shard, std::int64_t offset) {
  if (shard.first_fetch_check.accepts(shard.position.next_offset, offset)) return true;
  context_.log.debug("consumer.first_offset_mismatch", {{"topic", shard.assignment.partition.topic},
                                                        {"partition", shard.assignment.partition.partition},
                                                        {"position", shard.position.next_offset},
                                                        {"offset", offset}});
  look_up_again(shard);
  return false;
}

void Ingester::drop_recreated(Batch& batch) {
  for (const std::string& topic : context_.recreated.since(recreated_seen_)) {
    // Records just fetched may be the new topic's, at offsets that happen to follow the old topic's.
    std::erase_if(batch.parts, [&](const Part& part) { return part.shard->assignment.partition.topic == topic; });
    for (auto& [partition, shard] : shards_) {
      if (partition.topic != topic || !shard.is_read()) continue;
      context_.log.warn("consumer.topic_id_changed", {{"topic", partition.topic}, {"partition", partition.partition}});
      look_up_again(shard);
    }
  }
}

void Ingester::look_up_again(Shard& shard) {
  context_.poller.send(PositionDoubted{shard.assignment});
  shard.change(Shard::State::looking_up);
}

void Ingester::handle(const PartitionError& error) {
  Shard& shard = *error.shard;
  if (!shard.is_read()) return;
  const kafka::TopicPartition& partition = shard.assignment.partition;
  if (is_passing(error.code)) {
    context_.log.warn("consumer.read_error",
                      {{"topic", partition.topic}, {"partition", partition.partition}, {"error", error.message}});
    return;
  }
  if (is_corruption(error.code) && ++corrupt_reads_[shard.assignment.partition] < max_corrupt_reads) {
    context_.log.warn("consumer.corrupt_records",
                      {{"topic", partition.topic}, {"partition", partition.partition}, {"error", error.message}});
    look_up_again(shard);
    return;
  }
  if (is_about_position(error.code)) {
    halt(shard,
         diagnose(context_.clients.member, shard.assignment.partition, shard.position.next_offset, error.message));
  } else if (is_corruption(error.code)) {
    // Retried until the broker is repaired; never skipped.
    halt(shard, {"not readable: corrupt records at " + std::to_string(shard.position.next_offset) +
                     " or later: " + error.message,
                 std::nullopt});
  } else {
    halt(shard, {"not readable: " + error.message, std::nullopt});
  }
}

void Ingester::halt(Shard& shard, const ReadFailure& failure) {
  shard.change(Shard::State::halted);
  // Retried every few seconds; an unchanged reason is not logged as an error again.
  const bool is_known = shard.halted_reason == failure.reason;
  const base::Logger::Facts facts{{"topic", shard.assignment.partition.topic},
                                  {"partition", shard.assignment.partition.partition},
                                  {"reason", failure.reason}};
  if (is_known) {
    context_.log.debug("consumer.still_halted", facts);
  } else {
    context_.log.error("consumer.halted", facts);
  }
  const auto how = shard.halted_reason && !is_known ? inbox::Halt::replace : inbox::Halt::keep_first;
  const auto error =
      inbox::failure_of([&] { inbox::halt_shard(connection_, shard.position, failure.reason, failure.gap, how); });
  // The next read is refused again, and the reason recorded then.
  if (error) context_.log.warn("consumer.halt_not_recorded", {{"error", error->message}});
  context_.poller.send(Halted{shard.assignment});
}

/// A halt is retried every few seconds: once quarantine has room, or the registry answers, reading carries on here.
void Ingester::refuse(const RefusedRecord& record) {
  if (!record.shard->is_read()) return;
  if (record.cause == RefusedRecord::Cause::size) return look_up_again(*record.shard);
  if (record.cause == RefusedRecord::Cause::registry) {
    return halt(*record.shard,
                {inbox::text_of({"record " + std::to_string(record.offset) + " waits: " + record.why,
                                 "start the registry, or correct topics[].value.registry (or key) and restart; the "
                                 "partition continues by itself"}),
                 std::nullopt});
  }
  const std::string& topic = record.shard->assignment.partition.topic;
  halt(*record.shard,
       {inbox::text_of({"quarantine is full (retention.quarantine_bytes), and record " + std::to_string(record.offset) +
                            " belongs there: " + record.why,
                        "inboxd quarantine list; then inboxd quarantine retry --topic " + topic +
                            " or inboxd quarantine discard --topic " + topic +
                            "; the partition then continues by itself within a minute"}),
        std::nullopt});
}

void Ingester::clear_halts() {
  any_halt_to_clear_ = false;
  for (auto& [partition, shard] : shards_) {
    if (!shard.is_read() || !shard.has_read || !shard.halted_reason) continue;
    beat();
    const auto failure = inbox::failure_of([&, &halted = shard, &place = partition] {
      inbox::resume_shard(connection_, halted.position.shard_id, *halted.halted_reason);
      context_.log.info("consumer.halt_cleared", {{"topic", place.topic}, {"partition", place.partition}});
      halted.halted_reason.reset();
      context_.poller.send(HaltCleared{halted.assignment});
    });
    if (failure) {
      any_halt_to_clear_ = true;
      context_.log.debug("consumer.halt_not_cleared", {{"error", failure->message}});
      return;
    }
  }
}

}  // namespace inboxd::consumer
