#include "consumer/poller.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr int closing_wait_ms = 50;
/// As syslog counts.
constexpr int debug_level = 7;
constexpr int seek_wait_ms = 1'000;
constexpr int commit_wait_ms = 3'000;
/// The same at the end, and how long leaving the group may take then: together what shutdown.drain promises.
constexpr int last_commit_wait_ms = 2'000;
constexpr auto leave_wait = 1s;
/// A partition that was just assigned is not read yet for a moment; one that the library has ended never is.
constexpr int most_refusals = 3;
/// Joining again disturbs the whole group: whatever the reason is, it must not go on for ever at short intervals.
constexpr auto join_again_after = 30s;
constexpr auto ask_again_after = 500ms;
constexpr auto ask_halted_after = 5s;
constexpr int watermark_seconds = 5;
constexpr int incarnation_seconds = 10;

bool is_cooperative(rd_kafka_t* client) {
  return std::string_view{rd_kafka_rebalance_protocol(client)} == "COOPERATIVE";
}

/// What keeps a member out of its group until somebody changes rights, properties, or who else is in it.
bool is_refusal(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED || code == RD_KAFKA_RESP_ERR_INVALID_GROUP_ID ||
         code == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL || code == RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT ||
         code == RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED;
}

std::string group_of(const rd_kafka_conf_t* conf) {
  std::array<char, 1024> name{};
  std::size_t size = name.size();
  return rd_kafka_conf_get(conf, "group.id", name.data(), &size) == RD_KAFKA_CONF_OK ? name.data() : "";
}

}  // namespace

Poller::Poller(Board& board, base::Logger& log, std::chrono::seconds commit_every)
    : board_{board}, log_{log}, commit_every_{commit_every} {}

Poller::~Poller() {
  request_stop();
  join();
}

void Poller::prepare(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
  rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
  rd_kafka_conf_set_error_cb(conf, on_error);
  rd_kafka_conf_set_log_cb(conf, on_log);
  group_ = group_of(conf);
  shows_debug_ = RecreatedTopics::prepare(conf);
}

void Poller::start(const Clients& clients, std::vector<std::string> subscription, std::vector<Ingester*> ingesters) {
  client_ = clients.member;
  asker_ = clients.asker;
  subscription_ = std::move(subscription);
  ingesters_ = std::move(ingesters);
  wake_.reset(rd_kafka_queue_get_consumer(client_));
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "poller");
}

void Poller::request_stop() {
  stopping_ = true;
  wake();
}

void Poller::wake() {
  const std::lock_guard lock{wake_mutex_};
  if (wake_ != nullptr) rd_kafka_queue_yield(wake_.get());
}

void Poller::join() {
  if (thread_.joinable()) thread_.join();
}

void Poller::subscribe() {
  const kafka::PartitionList topics = kafka::make_list(subscription_.size());
  for (const std::string& topic : subscription_) {
    rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  }
  if (const auto error = rd_kafka_subscribe(client_, topics.get()); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    log_.error("consumer: cannot subscribe", {{"error", rd_kafka_err2str(error)}});
    failed_ = true;
  }
}

void Poller::run() {
  subscribe();
  next_second_ = Clock::now() + 1s;
  while (!stopping_) {
    last_moved_ = Clock::now().time_since_epoch().count();
    poll();
    read_letters();
    ask_where_due();
    if (Clock::now() >= next_second_) every_second();
  }
  leave();
  partitions_.clear();
  ends_.drop();
  const std::lock_guard lock{wake_mutex_};
  wake_.reset();
}

void Poller::leave() {
  leaving_ = true;
  commit_and_wait(last_commit_wait_ms);
  // Closing waits for commits under way, a minute with brokers that are silent: so it is watched from here.
  const kafka::Queue queue{rd_kafka_queue_new(client_)};
  const kafka::Error error{rd_kafka_consumer_close_queue(client_, queue.get())};
  if (error != nullptr) return;
  const auto end = Clock::now() + leave_wait;
  while (rd_kafka_consumer_closed(client_) == 0 && Clock::now() < end) {
    const kafka::Message dropped{rd_kafka_consume_queue(queue.get(), closing_wait_ms)};
  }
  left_behind_ = rd_kafka_consumer_closed(client_) == 0;
  if (left_behind_) {
    log_.warn("consumer: left the group without a word, the brokers are silent; they notice when the session ends");
  }
}

void Poller::poll() {
  const kafka::Message message{rd_kafka_consumer_poll(client_, wait_ms())};
  if (message == nullptr) return;
  if (message->rkt == nullptr || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    complained(message);
    return;
  }
  // Records come through the ingesters' queues; one that comes here is missing there.
  const auto stray = partitions_.find({rd_kafka_topic_name(message->rkt), message->partition});
  if (stray != partitions_.end()) ask(stray->second);
}

void Poller::complained(const kafka::Message& message) {
  const std::string reason = rd_kafka_message_errstr(message.get());
  complain("consumer: the brokers complain", reason);
  if (message->rkt != nullptr) return;
  board_.complained(rd_kafka_err2name(message->err));
  // Said once: the library tries again without another word.
  if (is_refusal(message->err)) board_.refused("the brokers refuse group " + group_ + ": " + reason);
}

/// Until something is due; a letter ends the wait. A second at most, because `every_second` is due then.
int Poller::wait_ms() const {
  auto due = next_second_;
  for (const auto& [name, partition] : partitions_) due = std::min(due, partition.ask_at);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void Poller::read_letters() {
  std::vector<Found> found;
  for (const ToPoller& letter : letters_.take()) {
    const Assignment& assignment =
        std::visit([](const auto& content) -> const Assignment& { return content.assignment; }, letter);
    Partition* const partition = current(assignment);
    if (partition == nullptr) continue;
    if (const auto* answer = std::get_if<Found>(&letter)) {
      found.push_back(*answer);
    } else if (std::holds_alternative<Readable>(letter)) {
      partition->halted = false;
      for (Found& earlier : found) {
        if (earlier.assignment.partition == assignment.partition) earlier.is_unproven = false;
      }
    } else if (std::holds_alternative<OutOfStep>(letter)) {
      ask(*partition);
    } else {
      pause(*partition);
      const auto* const halted = std::get_if<Halted>(&letter);
      partition->halted = partition->halted || halted != nullptr;
      if (halted != nullptr) partition->has_lag = halted->has_lag;
      partition->ask_at = Clock::now() + (halted != nullptr ? Clock::duration{ask_halted_after} : ask_again_after);
    }
  }
  // A later letter may have made an answer stale.
  std::erase_if(found, [this](const Found& answer) { return current(answer.assignment) == nullptr; });
  if (!found.empty()) seek_and_resume(found);
  count();
}

void Poller::ask_where_due() {
  const auto now = Clock::now();
  for (auto& [name, partition] : partitions_) {
    if (partition.ask_at <= now) ask(partition);
  }
}

void Poller::every_second() {
  next_second_ = Clock::now() + 1s;
  rd_kafka_poll(asker_, 0);  // what it says by itself must not pile up, and it may want to renew its token
  ++seconds_;
  if (seconds_ % commit_every_.count() == 0) commit();
  follow_ends();
  if (seconds_ % watermark_seconds == 0) note_watermarks();
  if (seconds_ % incarnation_seconds == 0) {
    for (Ingester* ingester : ingesters_) ingester->send(CheckIncarnations{});
  }
}

void Poller::commit() {
  const auto error = rd_kafka_commit(client_, nullptr, 1);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR && error != RD_KAFKA_RESP_ERR__NO_OFFSET) {
    complain("consumer: offsets not committed; tried again", rd_kafka_err2str(error));
  }
}

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

void Poller::assign(rd_kafka_topic_partition_list_t* partitions) {
  board_.admitted();
  for (int i = 0; i < partitions->cnt; ++i) {
    // A definite offset, so that the library neither asks for the group's nor resets; it is sought before it is read.
    partitions->elems[i].offset = 0;
  }
  // Paused before and behind: where the library still ends an earlier assignment it starts this one later, from another
  // thread, and drops a pause that it overtakes. Before the first assignment it may not know the partition yet.
  rd_kafka_pause_partitions(client_, partitions);
  if (is_cooperative(client_)) {
    const kafka::Error error{rd_kafka_incremental_assign(client_, partitions)};
    if (error != nullptr) complain("consumer: assignment failed", rd_kafka_error_string(error.get()));
  } else if (const auto error = rd_kafka_assign(client_, partitions); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    complain("consumer: assignment failed", rd_kafka_err2str(error));
  }
  rd_kafka_pause_partitions(client_, partitions);
  for (int i = 0; i < partitions->cnt; ++i) add({partitions->elems[i].topic, partitions->elems[i].partition});
  log_.info("consumer: partitions assigned", {{"new", partitions->cnt}, {"all", partitions_.size()}});
  count();
}

void Poller::add(const kafka::TopicPartition& name) {
  Partition partition;
  partition.assignment = {name, next_generation_++};
  partition.end.right_at = Clock::now();
  partition.queue.reset(rd_kafka_queue_get_partition(client_, name.topic.c_str(), name.partition));
  const std::size_t share = std::hash<std::string>{}(name.topic) + static_cast<std::size_t>(name.partition);
  partition.ingester = ingesters_[share % ingesters_.size()];
  if (partition.queue != nullptr) rd_kafka_queue_forward(partition.queue.get(), partition.ingester->queue());
  board_.assigned(name);
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
    board_.revoked(found->first);
    partitions_.erase(found);
  }
  if (is_cooperative(client_)) {
    const kafka::Error error{rd_kafka_incremental_unassign(client_, partitions)};
    if (error != nullptr) complain("consumer: unassignment failed", rd_kafka_error_string(error.get()));
  } else {
    rd_kafka_assign(client_, nullptr);
  }
  log_.info("consumer: partitions revoked", {{"gone", partitions->cnt}, {"left", partitions_.size()}, {"lost", lost}});
  count();
}

Poller::Partition* Poller::current(const Assignment& assignment) {
  const auto found = partitions_.find(assignment.partition);
  if (found == partitions_.end() || found->second.assignment.generation != assignment.generation) return nullptr;
  if (found->second.assignment.ask != assignment.ask) return nullptr;
  return &found->second;
}

void Poller::pause(Partition& partition) {
  const kafka::PartitionList list = kafka::make_list(1);
  kafka::add(list, partition.assignment.partition, RD_KAFKA_OFFSET_INVALID);
  rd_kafka_pause_partitions(client_, list.get());
  partition.running = false;
}

void Poller::ask(Partition& partition) {
  // Paused before the letter is sent: what the ingester reads after it belongs to the position it looks up.
  pause(partition);
  partition.ask_at = Clock::time_point::max();
  partition.assignment.ask += 1;
  partition.ingester->send(LookUp{partition.assignment});
}

void Poller::seek_and_resume(const std::vector<Found>& found) {
  const kafka::PartitionList seek = kafka::make_list(found.size());
  for (const Found& answer : found) {
    kafka::add(seek, answer.assignment.partition, answer.offset, answer.leader_epoch);
  }
  const kafka::Error error{rd_kafka_seek_partitions(client_, seek.get(), seek_wait_ms)};
  const kafka::PartitionList resume = kafka::make_list(found.size());
  // The group's offset follows the position, also where no record comes for long: a commit may have been refused, and
  // an operator or a restored database may have put the position elsewhere.
  const kafka::PartitionList offsets = kafka::make_list(found.size());
  const kafka::PartitionList lower = kafka::make_list(found.size());
  bool has_ended = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Partition& partition = partitions_.at(found[i].assignment.partition);
    const auto code = seek->elems[i].err;
    if (error != nullptr || code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      log_.debug("consumer: cannot seek yet", {{"topic", found[i].assignment.partition.topic},
                                               {"partition", found[i].assignment.partition.partition},
                                               {"error", rd_kafka_err2str(code)}});
      partition.ask_at = Clock::now() + ask_again_after;
      partition.refusals = code == RD_KAFKA_RESP_ERR__STATE ? partition.refusals + 1 : 0;
      if (partition.refusals < (partition.halted ? 1 : most_refusals) || Clock::now() < next_join_) continue;
      has_ended = true;
      if (partition.halted) continue;
      log_.warn("consumer: the client reads a partition no longer and did not say why",
                {{"topic", found[i].assignment.partition.topic},
                 {"partition", found[i].assignment.partition.partition},
                 {"offset", found[i].offset}});
      continue;
    }
    partition.running = true;
    partition.halted = found[i].is_unproven;
    partition.has_lag = true;
    partition.refusals = 0;
    kafka::add(resume, found[i].assignment.partition, RD_KAFKA_OFFSET_INVALID);
    kafka::add(offsets, found[i].assignment.partition, found[i].offset, found[i].leader_epoch);
    if (found[i].is_behind_group) {
      kafka::add(lower, found[i].assignment.partition, found[i].offset, found[i].leader_epoch);
    }
    log_.debug("consumer: reading", {{"topic", found[i].assignment.partition.topic},
                                     {"partition", found[i].assignment.partition.partition},
                                     {"offset", found[i].offset}});
  }
  if (offsets->cnt > 0) rd_kafka_offsets_store(client_, offsets.get());  // before an ingester stores later ones
  // By name: of what is stored the library commits by itself only what lies beyond its last commit.
  if (lower->cnt > 0) rd_kafka_commit(client_, lower.get(), 1);
  if (resume->cnt > 0) rd_kafka_resume_partitions(client_, resume.get());
  if (has_ended) join_again();
}

void Poller::join_again() {
  // Where an offset is out of range the library ends the reading of that partition for good: it can be assigned again,
  // but not sought. It says so once, and whoever does not read the partition at that moment drops it as stale. Rare, so
  // it may cost a rebalance.
  next_join_ = Clock::now() + join_again_after;
  log_.info("consumer: joins the group again, to read on where it stands still");
  rd_kafka_unsubscribe(client_);
  subscribe();
}

void Poller::commit_and_wait(int wait_ms) {
  const kafka::Queue queue{rd_kafka_queue_new(client_)};
  const auto error = rd_kafka_commit_queue(client_, nullptr, queue.get(), nullptr, nullptr);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const std::unique_ptr<rd_kafka_event_t, kafka::Destroy> done{rd_kafka_queue_poll(queue.get(), wait_ms)};
  if (done == nullptr) return;
  rd_kafka_topic_partition_list_t* const offsets = rd_kafka_event_topic_partition_list(done.get());
  on_commit(client_, rd_kafka_event_error(done.get()), offsets, this);
}

void Poller::on_commit(rd_kafka_t*, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* offsets, void* self) {
  auto* const poller = static_cast<Poller*>(self);
  if (error == RD_KAFKA_RESP_ERR__NO_OFFSET) return;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    poller->board_.complained(rd_kafka_err2name(error));
    poller->complain("consumer: offsets not committed; tried again", rd_kafka_err2str(error));
    return;
  }
  poller->board_.admitted();
  for (int i = 0; offsets != nullptr && i < offsets->cnt; ++i) {
    if (offsets->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    poller->complain("consumer: an offset was not committed; tried again", rd_kafka_err2str(offsets->elems[i].err));
  }
}

void Poller::on_error(rd_kafka_t* client, int code, const char* reason, void* self) {
  auto* const poller = static_cast<Poller*>(self);
  poller->board_.complained(rd_kafka_err2name(static_cast<rd_kafka_resp_err_t>(code)));
  poller->complain("kafka: client error", reason);
  if (code != RD_KAFKA_RESP_ERR__FATAL) return;
  char text[512];
  rd_kafka_fatal_error(client, text, sizeof text);
  poller->log_.error("kafka: the client cannot go on; the process has to start again", {{"error", text}});
  poller->failed_ = true;
}

void Poller::on_log(const rd_kafka_t* client, int level, const char*, const char* text) {
  auto* const poller = static_cast<Poller*>(rd_kafka_opaque(client));
  if (poller == nullptr) return;
  poller->recreated_.read(text);
  if (level < debug_level || poller->shows_debug_) {
    poller->log_.debug("kafka: client says", {{"level", level}, {"text", text}});
  }
}

void Poller::follow_ends() {
  read_ends();
  for (auto& [name, partition] : partitions_) {
    std::int64_t low = -1;
    std::int64_t high = -1;
    rd_kafka_get_watermark_offsets(client_, name.topic.c_str(), name.partition, &low, &high);
    // A queue holds the records of several partitions: none of them is fetched while it is full.
    const bool is_fetched =
        partition.running && !partition.halted && rd_kafka_queue_length(partition.ingester->queue()) == 0;
    partition.end.note_fetch(high, is_fetched, Clock::now());
    if (partition.end.high >= 0) board_.set_high_watermark(name, partition.end.high);
  }
  ask_for_ends();
}

void Poller::ask_for_ends() {
  if (ends_.is_under_way()) return;
  const auto now = Clock::now();
  std::vector<kafka::TopicPartition> due;
  for (auto& [name, partition] : partitions_) {
    if (!partition.has_lag || !partition.end.is_due(now)) continue;
    partition.end.asked_at = now;
    due.push_back(name);
  }
  if (!due.empty()) ends_.ask(asker_, due, LogEnd::answer_within);
}

void Poller::read_ends() {
  const auto answer = ends_.take();
  if (!answer) return;
  if (!answer->ok()) {
    log_.debug("consumer: the ends of partitions were not told", {{"reason", answer->problem().message}});
    return;
  }
  for (const auto& [name, high] : answer->value()) {
    const auto found = partitions_.find(name);
    if (found != partitions_.end()) found->second.end.note_answer(high);
  }
}

void Poller::note_watermarks() {
  std::map<Ingester*, NoteWatermarks> letters;
  for (const auto& [name, partition] : partitions_) {
    if (partition.end.high >= 0) letters[partition.ingester].high.emplace_back(name, partition.end.high);
  }
  for (auto& [ingester, letter] : letters) ingester->send(std::move(letter));
}

void Poller::count() {
  for (const auto& [name, partition] : partitions_) {
    board_.set_state(name, partition.halted    ? Board::State::halted
                           : partition.running ? Board::State::reading
                                               : Board::State::looking_up);
  }
  assigned_ = static_cast<int>(partitions_.size());
  running_ = static_cast<int>(std::count_if(partitions_.begin(), partitions_.end(),
                                            [](const auto& entry) { return entry.second.running; }));
}

void Poller::complain(const std::string& sentence, const std::string& reason) {
  if (repeats_.is_news(sentence + reason)) log_.warn(sentence, {{"reason", reason}});
}

}  // namespace inboxd::consumer
