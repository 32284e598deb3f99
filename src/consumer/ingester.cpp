#include "consumer/ingester.hpp"

#include <algorithm>

#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"

namespace inboxd::consumer {
namespace {

/// How long the loop waits for a first record; a message ends the wait.
constexpr int idle_wait_ms = 500;
/// Records taken from the queue at once.
constexpr std::size_t portion = 500;
constexpr int max_periodic_pending = 2;
/// Of a batch, by decoding. A batch that grows more ends earlier, and its rest is fetched again.
constexpr std::size_t max_growth = 8;
constexpr std::size_t max_decoded_bytes = 256 << 20;  // PostgreSQL refuses messages of a GiB
/// After an unexpected error: as long as the longest wait for a database.
constexpr std::chrono::milliseconds rest_timeout{5'000};
constexpr std::chrono::milliseconds rest_step{20};

bool is_periodic(const ToIngester& message) {
  return std::holds_alternative<RecordWatermarks>(message) || std::holds_alternative<CheckIncarnations>(message);
}

}  // namespace

Ingester::Ingester(IngesterContext context, int number)
    : context_{context},
      name_{"ingest " + std::to_string(number)},
      queue_{rd_kafka_queue_new(context_.clients.member)},
      connection_{context_.settings.database, name_, context_.watchdog, context_.log},
      writer_{context_.settings, context_.owner,  connection_, context_.registrations,
              context_.hand_off, context_.counts, context_.log},
      is_first_{number == 0},
      unobserved_watermarks_{connection_, context_.clients.query, context_.topics, context_.log},
      readings_{connection_,     context_.owner,  context_.clients.query, context_.settings.kafka,
                context_.topics, context_.status} {
  if (is_first_) {
    for (const config::Topic& entry : context_.topics.entries()) entries_to_start_.push_back(&entry);
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
  stop_.request();
  wake();
}

void Ingester::wake() { rd_kafka_queue_yield(queue_.get()); }

void Ingester::join() {
  if (thread_.joinable()) thread_.join();
}

void Ingester::send(ToIngester message) {
  const bool periodic = is_periodic(message);
  // While the database is away, the last periodic messages wait, and more of them would only pile up.
  if (periodic && periodic_pending_ >= max_periodic_pending) return;
  if (periodic) periodic_pending_ += 1;
  messages_.send(std::move(message));
}

void Ingester::run() {
  // Before handlers have used up the connections. A failure shows at the first batch.
  static_cast<void>(inbox::failure_of([&] { connection_.open(); }));
  while (!stop_.is_requested()) {
    const auto failure = inbox::failure_of([&] {
      if (looks_up_all_) look_up_all_again();
      run_once();
    });
    if (!failure) continue;
    // No error of the database or the brokers: out of memory, or a bug. The positions in the database are still right.
    looks_up_all_ = true;
    context_.log.error("consumer.unexpected_error", {{"ingester", name_}, {"error", failure->message}});
    rest();
  }
}

void Ingester::run_once() {
  beat();
  const std::uint64_t revocations = context_.revocations;
  // Before anything is fetched: the poll thread pauses a partition before it sends LookUp, so records read after the
  // message belong to the position that was looked up.
  read_messages();
  do_periodic_work(revocations);
  Taken taken;
  {
    Batch batch;
    poll_batch(batch, taken);
    process(batch);
  }
  // Before the next messages: the taken records belong to the present positions.
  while (!taken.empty() && !stop_.is_requested()) {
    beat();
    Batch batch;
    fill(batch, taken);
    process(batch);
  }
}

void Ingester::poll_batch(Batch& batch, Taken& taken) {
  const auto& limits = context_.settings.ingest;
  rd_kafka_message_t* first = rd_kafka_consume_queue(queue_.get(), idle_wait_ms);
  if (first == nullptr) return;
  add(batch, kafka::Message{first});
  const auto deadline = std::chrono::steady_clock::now() + limits.batch_wait;
  std::vector<rd_kafka_message_t*> next(portion);
  while (!is_full(batch)) {
    // Few at a time if records are large, so that few are left over for the next batch.
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

void Ingester::process(Batch& batch) {
  beat();
  drop_recreated(batch);
  if (!batch.empty()) ingest(batch);
  if (any_halt_to_clear_) clear_halts();
  for (const PartitionError& error : batch.errors) {
    beat();
    handle(error);
  }
}

void Ingester::ingest(Batch& batch) {
  const auto begin = std::chrono::system_clock::now();
  const std::size_t max_decoded = std::min(max_growth * context_.settings.ingest.batch_bytes, max_decoded_bytes);
  decode(batch, context_.counts.quarantine_is_full, max_decoded);
  if (!batch.empty()) store(batch, begin);
  for (const RefusedRecord& record : batch.refused) refuse(record);
}

void Ingester::store(Batch& batch, std::chrono::system_clock::time_point begin) {
  if (context_.tracer != nullptr) look_for_contexts(batch);
  const std::uint64_t revocations = context_.revocations;
  // Routes, commits, and hands over the born-leased runs.
  const auto written = writer_.write(batch, [&] {
    beat();
    return stop_.is_requested() || context_.revocations != revocations;
  });
  if (written.abandoned) {
    // Whatever became of the batch, the database knows: its partitions are read from there, if they are still assigned.
    for (Part& part : batch.parts) look_up_again(*part.shard);
    return;
  }
  if (context_.tracer != nullptr) {
    add_spans(*context_.tracer, batch, written.mismatched, context_.settings.kafka.group, begin);
  }
  store_offsets(batch, written.mismatched);
}

void Ingester::store_offsets(const Batch& batch, const std::vector<std::int32_t>& mismatched) {
  const kafka::PartitionList offsets = kafka::make_list(batch.parts.size());
  for (const Part& part : batch.parts) {
    Shard& shard = *part.shard;
    if (std::find(mismatched.begin(), mismatched.end(), shard.position.shard_id) != mismatched.end()) {
      context_.log.info("consumer.position_mismatch", {{"topic", shard.assignment.partition.topic},
                                                       {"partition", shard.assignment.partition.partition},
                                                       {"expected", shard.position.next_offset}});
      look_up_again(shard);
      continue;
    }
    shard.position.next_offset = part.next_offset;
    if (part.leader_epoch >= 0) shard.position.leader_epoch = part.leader_epoch;
    corrupt_reads_.erase(shard.assignment.partition);
    const auto is_rejected = [&](const auto& record) { return record.shard_id == shard.position.shard_id; };
    const auto rejected = std::count_if(batch.rejected.begin(), batch.rejected.end(), is_rejected);
    context_.status.advanced(shard.assignment.partition, part.next_offset, part.messages.size(),
                             static_cast<std::uint64_t>(rejected));
    auto* const entry = kafka::add(offsets, shard.assignment.partition, part.next_offset, part.leader_epoch);
    set_metadata(*entry, commit_metadata(shard.position));
  }
  if (offsets->cnt > 0) {
    // The poll thread commits them. Partitions that were revoked meanwhile are refused individually.
    const auto error = rd_kafka_offsets_store(context_.clients.member, offsets.get());
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      context_.log.debug("consumer.offsets_not_stored", {{"error", rd_kafka_err2str(error)}});
    }
  }
}

void Ingester::rest() {
  const auto end = std::chrono::steady_clock::now() + rest_timeout;
  while (std::chrono::steady_clock::now() < end) {
    beat();
    if (stop_.wait_for(rest_step)) return;
  }
}

void Ingester::read_messages() {
  for (ToIngester& message : messages_.take()) unread_.push_back(std::move(message));
  while (!unread_.empty() && !stop_.is_requested()) {
    beat();
    std::visit([this](const auto& content) { handle(content); }, unread_.front());
    if (is_periodic(unread_.front())) periodic_pending_ -= 1;
    unread_.pop_front();
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
  if (shard == nullptr || shard->state != Shard::State::reading) return;
  shard->stall_detector.note_message();
  if (shard->halted_reason && !shard->has_read) {
    const bool is_read = message->err == RD_KAFKA_RESP_ERR_NO_ERROR || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    shard->has_read = is_read && message->offset >= shard->position.next_offset;
    any_halt_to_clear_ = any_halt_to_clear_ || shard->has_read;
  }
  if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    // Between the last record and the end lie only control records and aborted records.
    if (!passes_first_fetch_check(*shard, message->offset)) return;
    if (message->offset > shard->position.next_offset) {
      Part& part = part_for(batch, *shard);
      part.next_offset = std::max(part.next_offset, message->offset);
    }
    return;
  }
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    // The client continues after an unreadable record; the ingester must not.
    if (!is_passing(message->err)) shard->change(Shard::State::broken);
    batch.errors.push_back({shard, message->err, rd_kafka_message_errstr(message.get())});
    return;
  }
  if (message->offset < shard->position.next_offset || !passes_first_fetch_check(*shard, message->offset)) return;
  Part& part = part_for(batch, *shard);
  if (message->offset < part.next_offset) return;
  part.next_offset = message->offset + 1;
  part.leader_epoch = rd_kafka_message_leader_epoch(message.get());
  part.messages.push_back(message.get());
  batch.bytes += size_of(*message);
  batch.messages.push_back(std::move(message));
}

Part& Ingester::part_for(Batch& batch, Shard& shard) {
  // Records of a partition come in a row, so it is nearly always the last part.
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

}  // namespace inboxd::consumer
