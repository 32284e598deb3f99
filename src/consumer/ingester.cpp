#include "consumer/ingester.hpp"

#include <algorithm>
#include <set>

#include "consumer/first_positions.hpp"
#include "consumer/ingest_spans.hpp"
#include "consumer/partition_errors.hpp"
#include "inbox/database_error.hpp"
#include "kafka/lookup.hpp"

namespace inboxd::consumer {
namespace {

/// How long the loop waits for a first record; letters end the wait.
constexpr int idle_wait_ms = 500;
/// Records taken from the queue at once.
constexpr std::size_t portion = 500;
/// Corrupt reads of one partition in a row before it is halted. The network may have done it once; each further read
/// takes a rebalance, because the client library does not go on by itself.
constexpr int most_corrupt_reads = 2;
constexpr int most_chores_pending = 2;
constexpr std::chrono::seconds start_entries_again_after{1};
/// After what was not expected: as long as the longest wait for a database.
constexpr std::chrono::milliseconds rest_for{5'000};
constexpr std::chrono::milliseconds rest_step{20};

bool is_chore(const ToIngester& letter) {
  return std::holds_alternative<NoteWatermarks>(letter) || std::holds_alternative<CheckIncarnations>(letter);
}

}  // namespace

Ingester::Ingester(IngesterContext context, int number)
    : context_{context},
      name_{"ingest " + std::to_string(number)},
      queue_{rd_kafka_queue_new(context_.clients.member)},
      connection_{context_.settings.database, name_, context_.watchdog, context_.log},
      store_{context_.settings, context_.owner,  connection_, context_.registrations,
             context_.hand_off, context_.counts, context_.log},
      asks_for_all_{number == 0} {
  if (asks_for_all_) {
    for (const config::Topic& entry : context_.topics.entries()) entries_left_.push_back(&entry);
  }
}

Ingester::~Ingester() {
  request_stop();
  join();
}

void Ingester::start() {
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), name_.c_str());
}

void Ingester::request_stop() {
  stopping_ = true;
  wake();
}

void Ingester::wake() { rd_kafka_queue_yield(queue_.get()); }

void Ingester::join() {
  if (thread_.joinable()) thread_.join();
}

void Ingester::send(ToIngester letter) {
  const bool chore = is_chore(letter);
  // Chores come at intervals: while the last ones wait (the database is away), more of them would only pile up.
  if (chore && chores_pending_ >= most_chores_pending) return;
  if (chore) chores_pending_ += 1;
  letters_.send(std::move(letter));
}

void Ingester::run() {
  while (!stopping_) {
    try {
      if (reads_anew_) read_anew();
      turn();
    } catch (...) {
      // Nothing that is known of a database or brokers: memory that is short, a bug. Whatever was in hand, the database
      // knows what is stored.
      reads_anew_ = true;
      context_.log.error("consumer: something unexpected; reading again from the positions",
                         {{"ingester", name_}, {"error", inbox::describe_any(std::current_exception()).message}});
      rest();
    }
  }
}

void Ingester::turn() {
  move();
  // Letters come before anything that is fetched now: whoever sends LookUp has paused the partition first, so what
  // is read after this point belongs to the position that was looked up.
  const std::uint64_t revocations = context_.revocations;
  read_letters();
  if (position_check_.is_due(connection_.generation(), std::chrono::steady_clock::now())) {
    move();
    check_positions(revocations);
  }
  listen();
  if (!entries_left_.empty() && std::chrono::steady_clock::now() >= start_entries_at_) start_entries();
  Taken taken;
  {
    Batch batch;
    gather(batch, taken);
    work_off(batch);
  }
  // Before any letter is read: what was taken belongs to the positions of now.
  while (!taken.empty() && !stopping_) {
    move();
    Batch batch;
    fill(batch, taken);
    work_off(batch);
  }
}

void Ingester::read_anew() {
  for (auto& [partition, shard] : shards_) {
    if (shard.reading) out_of_step(shard);
  }
  reads_anew_ = false;
}

void Ingester::rest() {
  const auto end = std::chrono::steady_clock::now() + rest_for;
  while (!stopping_ && std::chrono::steady_clock::now() < end) {
    move();
    std::this_thread::sleep_for(rest_step);
  }
}

void Ingester::work_off(Batch& batch) {
  move();
  drop_recreated(batch);
  if (!batch.empty()) ingest(batch);
  if (any_proven_) end_standing();
  for (const PartitionError& error : batch.errors) {
    move();
    handle(error);
  }
}

void Ingester::move() { last_moved_ = std::chrono::steady_clock::now().time_since_epoch().count(); }

void Ingester::start_entries() {
  // Also where no topic of an entry exists, and so nothing is ever assigned: what appears after this is later.
  try {
    for (auto entry = entries_left_.begin(); entry != entries_left_.end() && !stopping_;) {
      move();
      const auto not_yet = start_entry(
          connection_, context_.clients, context_.topics, **entry, [this] { move(); }, context_.log);
      if (!not_yet) {
        entry = entries_left_.erase(entry);
        continue;
      }
      context_.log.debug("consumer: first start of a topic is tried again", {{"reason", not_yet->reason}});
      if (not_yet->is_silence) {
        context_.board.unanswered();
        break;
      }
      ++entry;
    }
  } catch (...) {
    context_.log.debug("consumer: first start of a topic is tried again",
                       {{"error", inbox::describe_any(std::current_exception()).message}});
  }
  start_entries_at_ = std::chrono::steady_clock::now() + start_entries_again_after;
}

void Ingester::read_letters() {
  for (ToIngester& letter : letters_.take()) unread_.push_back(std::move(letter));
  while (!unread_.empty() && !stopping_) {
    move();
    std::visit([this](const auto& content) { answer(content); }, unread_.front());
    if (is_chore(unread_.front())) chores_pending_ -= 1;
    unread_.pop_front();
  }
}

void Ingester::answer(const LookUp& letter) {
  const kafka::TopicPartition& partition = letter.assignment.partition;
  Shard& shard = shards_[partition];
  shard.assignment = letter.assignment;
  shard.reading = false;
  shard.broken = false;
  shard.has_lag = false;
  try {
    const auto looked_up = look_up(
        connection_, context_.clients, context_.topics, partition, context_.recreated.id_of(partition.topic),
        [this] { move(); }, context_.log);
    if (const auto* ready = std::get_if<Ready>(&looked_up)) {
      shard.position = ready->position;
      shard.standing_reason = ready->position.halted_reason;
      shard.proven = false;
      shard.beginning.looked_up();
      shard.silence.looked_up(std::chrono::steady_clock::now());
      shard.rules = {*ready->topic, context_.settings.kafka.name_space, ready->position.log_id};
      shard.place = std::make_shared<const inbox::Place>(inbox::Place{partition.topic, partition.partition});
      shard.reading = true;
      shard.has_lag = true;
      context_.board.advanced(partition, ready->position.next_offset, 0);
      const bool is_behind = group_offset_.is_ahead(context_.clients.member, partition, ready->position, context_.log);
      context_.poller.send(Found{letter.assignment, ready->position.next_offset, ready->position.leader_epoch,
                                 shard.standing_reason.has_value(), is_behind});
    } else if (const auto* standing = std::get_if<Standing>(&looked_up)) {
      context_.log.debug(
          "consumer: partition stands still",
          {{"topic", partition.topic}, {"partition", partition.partition}, {"reason", standing->reason}});
      if (standing->position) {
        shard.position = *standing->position;
        shard.has_lag = true;
        context_.board.advanced(partition, standing->position->next_offset, 0);
      }
      context_.poller.send(Halted{letter.assignment, shard.has_lag});
    } else {
      const auto& [reason, is_silence] = std::get<NotNow>(looked_up);
      if (is_silence) context_.board.unanswered();
      if (repeats_.is_news(partition.topic + "/" + std::to_string(partition.partition) + reason)) {
        context_.log.warn("consumer: position not known yet",
                          {{"topic", partition.topic}, {"partition", partition.partition}, {"reason", reason}});
      }
      context_.poller.send(AskAgain{letter.assignment});
    }
  } catch (...) {
    const auto failure = inbox::describe_any(std::current_exception());
    // The same for all partitions, as a rule: a database that is away.
    if (repeats_.is_news(failure.sqlstate + failure.message)) {
      context_.log.warn("consumer: position could not be looked up", {{"topic", partition.topic},
                                                                      {"partition", partition.partition},
                                                                      {"fault", name_of(failure.fault)},
                                                                      {"error", failure.message}});
    }
    context_.poller.send(AskAgain{letter.assignment});
  }
}

void Ingester::answer(const Forget& letter) {
  const auto found = shards_.find(letter.assignment.partition);
  if (found == shards_.end() || found->second.assignment.generation != letter.assignment.generation) return;
  by_source_.clear();
  shards_.erase(found);
}

void Ingester::gather(Batch& batch, Taken& taken) {
  const auto& limits = context_.settings.ingest;
  rd_kafka_message_t* first = rd_kafka_consume_queue(queue_.get(), idle_wait_ms);
  if (first == nullptr) return;
  add(batch, kafka::Message{first});
  const auto deadline = std::chrono::steady_clock::now() + limits.batch_wait;
  std::vector<rd_kafka_message_t*> next(portion);
  while (!is_full(batch)) {
    // Few at a time where records are large, so that little is left over for the next batch.
    const std::size_t each = batch.bytes / std::max<std::size_t>(batch.messages.size(), 1) + 1;
    const std::size_t fitting = (limits.batch_bytes - batch.bytes) / each + 1;
    const std::size_t wanted =
        std::min({portion, fitting, static_cast<std::size_t>(limits.batch_events) - batch.messages.size()});
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int wait = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    const auto count = rd_kafka_consume_batch_queue(queue_.get(), wait, next.data(), wanted);
    if (count <= 0) break;
    for (ssize_t i = 0; i < count; ++i) taken.emplace_back(next[static_cast<std::size_t>(i)]);
    fill(batch, taken);
  }
}

bool Ingester::is_full(const Batch& batch) const {
  const auto& limits = context_.settings.ingest;
  return batch.messages.size() >= static_cast<std::size_t>(limits.batch_events) || batch.bytes >= limits.batch_bytes;
}

void Ingester::fill(Batch& batch, Taken& taken) {
  for (; !taken.empty() && !is_full(batch); taken.pop_front()) add(batch, std::move(taken.front()));
}

void Ingester::add(Batch& batch, kafka::Message message) {
  Shard* const shard = shard_of(*message);
  taken_ += 1;
  if (shard == nullptr || !shard->reading || shard->broken) return;
  shard->silence.heard();
  if (shard->standing_reason && !shard->proven) {
    const bool is_read = message->err == RD_KAFKA_RESP_ERR_NO_ERROR || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    shard->proven = is_read && message->offset >= shard->position.next_offset;
    any_proven_ = any_proven_ || shard->proven;
  }
  if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    // The end of the partition: what lies between the last record and here are control records or aborted ones.
    if (!is_believed(*shard, message->offset)) return;
    if (message->offset > shard->position.next_offset) {
      Part& part = part_for(batch, *shard);
      part.next_offset = std::max(part.next_offset, message->offset);
    }
    return;
  }
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    // The client goes on behind what it could not read; we must not.
    shard->broken = !is_passing(message->err);
    batch.errors.push_back({shard, message->err, rd_kafka_message_errstr(message.get())});
    return;
  }
  if (message->offset < shard->position.next_offset || !is_believed(*shard, message->offset)) return;
  Part& part = part_for(batch, *shard);
  if (message->offset < part.next_offset) return;
  part.next_offset = message->offset + 1;
  part.leader_epoch = rd_kafka_message_leader_epoch(message.get());
  part.messages.push_back(message.get());
  batch.bytes += size_of(*message);
  batch.messages.push_back(std::move(message));
}

bool Ingester::is_believed(Shard& shard, std::int64_t offset) {
  if (shard.beginning.is_believed(shard.position.next_offset, offset)) return true;
  context_.log.debug("consumer: what comes first is not at the position; looking it up again",
                     {{"topic", shard.assignment.partition.topic},
                      {"partition", shard.assignment.partition.partition},
                      {"position", shard.position.next_offset},
                      {"offset", offset}});
  out_of_step(shard);
  return false;
}

Part& Ingester::part_for(Batch& batch, Shard& shard) {
  // Records of one partition come in a row, so the last part is nearly always the one.
  for (auto part = batch.parts.rbegin(); part != batch.parts.rend(); ++part) {
    if (part->shard == &shard) return *part;
  }
  batch.parts.push_back({&shard, {}, shard.position.next_offset});
  return batch.parts.back();
}

Shard* Ingester::shard_of(const rd_kafka_message_t& message) {
  if (message.rkt == nullptr) return nullptr;
  const MessageSource source{message.rkt, message.partition};
  if (const auto found = by_source_.find(source); found != by_source_.end()) return found->second;
  const auto shard = shards_.find({rd_kafka_topic_name(message.rkt), message.partition});
  if (shard == shards_.end()) return nullptr;
  by_source_[source] = &shard->second;
  return &shard->second;
}

void Ingester::ingest(Batch& batch) {
  const auto begin = std::chrono::system_clock::now();
  decode(batch);
  if (context_.tracer != nullptr) look_for_contexts(batch);
  const std::uint64_t revocations = context_.revocations;
  const auto stored = store_.store(batch, [&] {
    move();
    return stopping_ || context_.revocations != revocations;
  });
  if (stored.abandoned) {
    // Whatever became of the batch, the database knows; partitions that are still ours are read from there again.
    for (Part& part : batch.parts) out_of_step(*part.shard);
    return;
  }
  if (context_.tracer != nullptr) {
    add_spans(*context_.tracer, batch, stored.mismatched, context_.settings.kafka.group, begin);
  }
  advance(batch, stored.mismatched);
}

void Ingester::advance(const Batch& batch, const std::vector<std::int32_t>& mismatched) {
  const kafka::PartitionList offsets = kafka::make_list(batch.parts.size());
  for (const Part& part : batch.parts) {
    Shard& shard = *part.shard;
    if (std::find(mismatched.begin(), mismatched.end(), shard.position.shard_id) != mismatched.end()) {
      context_.log.warn("consumer: position is not what was expected; looking it up again",
                        {{"topic", shard.assignment.partition.topic},
                         {"partition", shard.assignment.partition.partition},
                         {"expected", shard.position.next_offset}});
      out_of_step(shard);
      continue;
    }
    shard.position.next_offset = part.next_offset;
    if (part.leader_epoch >= 0) shard.position.leader_epoch = part.leader_epoch;
    corrupt_reads_.erase(shard.assignment.partition);
    context_.board.advanced(shard.assignment.partition, part.next_offset, part.messages.size());
    kafka::add(offsets, shard.assignment.partition, part.next_offset, part.leader_epoch);
  }
  if (offsets->cnt > 0) {
    // Partitions that were taken from us meanwhile are refused one by one, which is right.
    const auto error = rd_kafka_offsets_store(context_.clients.member, offsets.get());
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      context_.log.debug("consumer: offsets not stored", {{"error", rd_kafka_err2str(error)}});
    }
  }
}

void Ingester::drop_recreated(Batch& batch) {
  for (const std::string& topic : context_.recreated.since(recreated_seen_)) {
    // What was just fetched may be the new topic's, at offsets that follow those of the old one by chance.
    std::erase_if(batch.parts, [&](const Part& part) { return part.shard->assignment.partition.topic == topic; });
    for (auto& [partition, shard] : shards_) {
      if (partition.topic != topic || !shard.reading) continue;
      context_.log.warn("consumer: the topic has another id; looking it up again",
                        {{"topic", partition.topic}, {"partition", partition.partition}});
      out_of_step(shard);
    }
  }
}

void Ingester::out_of_step(Shard& shard) {
  context_.poller.send(OutOfStep{shard.assignment});
  shard.reading = false;
  shard.has_lag = false;
}

void Ingester::handle(const PartitionError& error) {
  Shard& shard = *error.shard;
  if (!shard.reading) return;
  const kafka::TopicPartition& partition = shard.assignment.partition;
  if (is_passing(error.code)) {
    context_.log.warn("consumer: the client goes on by itself",
                      {{"topic", partition.topic}, {"partition", partition.partition}, {"error", error.message}});
    return;
  }
  if (is_corruption(error.code) && ++corrupt_reads_[shard.assignment.partition] < most_corrupt_reads) {
    context_.log.warn("consumer: corrupt records; reading again",
                      {{"topic", partition.topic}, {"partition", partition.partition}, {"error", error.message}});
    out_of_step(shard);
    return;
  }
  if (is_about_position(error.code)) {
    halt(shard,
         examine(context_.clients.member, shard.assignment.partition, shard.position.next_offset, error.message));
  } else if (is_corruption(error.code)) {
    // Passes by itself where the broker is repaired; until then it is read again and again, and never past it.
    halt(shard, {"not readable: corrupt records at " + std::to_string(shard.position.next_offset) +
                     " or behind: " + error.message,
                 std::nullopt});
  } else {
    halt(shard, {"not readable: " + error.message, std::nullopt});
  }
}

void Ingester::halt(Shard& shard, const Break& broken) {
  shard.reading = false;
  // Tried again every few seconds, and no better: that is known.
  const bool is_known = shard.standing_reason == broken.reason;
  context_.log.write(is_known ? base::LogLevel::debug : base::LogLevel::error, "consumer: halted",
                     {{"topic", shard.assignment.partition.topic},
                      {"partition", shard.assignment.partition.partition},
                      {"reason", broken.reason},
                      {"look", "inboxd shards list"}});
  try {
    const auto how = shard.standing_reason && !is_known ? inbox::Halt::replace : inbox::Halt::keep_first;
    inbox::halt_shard(connection_, shard.position, broken.reason, broken.gap, how);
  } catch (...) {
    // It is found again: the partition is asked for again, read, and refused by the broker as now.
    context_.log.warn("consumer: the reason could not be recorded",
                      {{"error", inbox::describe_any(std::current_exception()).message}});
  }
  context_.poller.send(Halted{shard.assignment});
}

}  // namespace inboxd::consumer
