#include "consumer/poller.hpp"

#include <algorithm>
#include <array>

#include "base/mutex.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr int closing_wait_ms = 50;
constexpr int debug_level = 7;  // of syslog
/// At the end: the last commit, then leaving the group. Together about three seconds, as request_stop() promises.
constexpr int last_commit_wait_ms = 2'000;
constexpr auto leave_wait = 1s;
constexpr int incarnation_seconds = 10;

/// Errors that keep a member out of its group until rights, properties or the other members change.
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

Poller::Poller(PartitionStatus& status, base::Logger& log, std::chrono::seconds commit_interval)
    : status_{status}, log_{log}, commit_interval_{commit_interval} {}

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
  shows_debug_ = RecreatedTopics::enable(conf);
}

void Poller::start(const kafka::Clients& clients, std::vector<std::string> subscription,
                   std::vector<Ingester*> ingesters) {
  client_ = clients.member;
  query_client_ = clients.query;
  subscription_ = std::move(subscription);
  ingesters_ = std::move(ingesters);
  stopping_ = is_abandoned_ = leaving_ = left_behind_ = false;
  pending_commits_ = 0;
  lower_.reset();
  messages_.take();
  unjoined_since_ = subscribes() ? Clock::now().time_since_epoch().count() : 0;
  {
    const base::Lock lock{share_mutex_};
    has_share_changed_ = true;
  }
  {
    const base::Lock lock{wake_mutex_};
    wake_.reset(rd_kafka_queue_get_consumer(client_));
  }
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "poller");
}

void Poller::request_stop() {
  stopping_ = true;
  wake();
}

void Poller::read(std::set<kafka::TopicPartition> partitions) {
  {
    const base::Lock lock{share_mutex_};
    if (partitions == share_) return;
    share_ = std::move(partitions);
    has_share_changed_ = true;
  }
  wake();
}

void Poller::abandon() {
  is_abandoned_ = true;
  request_stop();
  join();
}

std::optional<Poller::Clock::time_point> Poller::unjoined_since() const {
  const Clock::rep since = unjoined_since_;
  if (since == 0) return std::nullopt;
  return Clock::time_point{Clock::duration{since}};
}

void Poller::wake() {
  const base::Lock lock{wake_mutex_};
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
    log_.error("consumer.subscribe_failed", {{"error", rd_kafka_err2str(error)}});
    failed_ = true;
  }
}

void Poller::run() {
  if (subscribes()) subscribe();
  next_second_ = Clock::now() + 1s;
  while (!stopping_) {
    heartbeat_.beat();
    poll();
    if (!subscribes()) follow_share();
    read_messages();
    request_due_look_ups();
    if (Clock::now() >= next_watermarks_) update_watermarks();
    if (Clock::now() >= next_second_) every_second();
  }
  if (is_abandoned_) {
    revocations_ += 1;
    for (const auto& [name, partition] : partitions_) status_.revoked(name);
  } else {
    leave();
  }
  partitions_.clear();
  count_partitions();
  high_request_.drop();
  stable_request_.drop();
  const base::Lock lock{wake_mutex_};
  wake_.reset();
}

void Poller::leave() {
  leaving_ = true;
  commit_and_wait(last_commit_wait_ms);
  // Closing waits for pending commits, a minute if the brokers do not answer, so it is polled with a limit.
  const kafka::Queue queue{rd_kafka_queue_new(client_)};
  const kafka::Error error{rd_kafka_consumer_close_queue(client_, queue.get())};
  if (error != nullptr) return;
  const auto end = Clock::now() + leave_wait;
  while (rd_kafka_consumer_closed(client_) == 0 && Clock::now() < end) {
    const kafka::Message dropped{rd_kafka_consume_queue(queue.get(), closing_wait_ms)};
  }
  left_behind_ = rd_kafka_consumer_closed(client_) == 0;
  if (left_behind_) {
    log_.warn("consumer.leave_unconfirmed");
  }
}

void Poller::poll() {
  const kafka::Message message{rd_kafka_consumer_poll(client_, wait_ms())};
  if (message == nullptr) return;
  if (message->rkt == nullptr || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    handle_error(message);
    return;
  }
  // Records belong into the ingesters' queues; a record that arrives here is missing there.
  const auto stray = partitions_.find({rd_kafka_topic_name(message->rkt), message->partition});
  if (stray != partitions_.end()) act(stray->second, stray->second.life.doubted());
}

void Poller::handle_error(const kafka::Message& message) {
  if (message->err == RD_KAFKA_RESP_ERR__FATAL) return check_fatal();
  const std::string reason = rd_kafka_message_errstr(message.get());
  complain("consumer.broker_error", reason);
  if (message->rkt != nullptr) return;
  status_.count_error(rd_kafka_err2name(message->err));
  // Reported once: the library retries silently.
  if (is_refusal(message->err)) status_.group_refused("the brokers refuse group " + group_ + ": " + reason);
}

/// Until the next due time; a message ends the wait. At most a second, for `every_second`.
int Poller::wait_ms() const {
  auto due = std::min(next_second_, next_watermarks_);
  for (const auto& [name, partition] : partitions_) due = std::min(due, partition.life.look_up_at());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void Poller::read_messages() {
  Found found;
  for (const ToPoller& message : messages_.take()) {
    const Assignment& assignment =
        std::visit([](const auto& content) -> const Assignment& { return content.assignment; }, message);
    Partition* const partition = current(assignment);
    if (partition == nullptr) continue;
    const auto earlier = found.find(assignment.partition);
    if (const auto* answer = std::get_if<PositionFound>(&message)) {
      found.insert_or_assign(assignment.partition, *answer);
    } else if (std::holds_alternative<HaltCleared>(message)) {
      partition->life.halt_cleared();
      act(*partition, PartitionLife::Action::none);
      if (earlier != found.end()) earlier->second.was_halted = false;
    } else {
      if (earlier != found.end()) found.erase(earlier);  // stale
      if (std::holds_alternative<PositionDoubted>(message)) {
        act(*partition, partition->life.doubted());
      } else if (const auto* halted = std::get_if<Halted>(&message)) {
        act(*partition, partition->life.halted(Clock::now()));
        partition->lag.found(halted->has_lag);
      } else {
        act(*partition, partition->life.look_up_failed(Clock::now()));
      }
    }
  }
  if (!found.empty()) seek_and_resume(found);
  count_partitions();
}

void Poller::every_second() {
  next_second_ = Clock::now() + 1s;
  rd_kafka_poll(query_client_, 0);  // serves its callbacks, token refreshes among them
  check_fatal();
  if (credentials_.renew({client_, query_client_})) is_outdated_ = true;
  ++seconds_;
  if (seconds_ % commit_interval_.count() == 0) commit();
  if (seconds_ % incarnation_seconds == 1) {  // from the first second, so that a misspelt topic is reported at once
    for (Ingester* ingester : ingesters_) ingester->send(CheckIncarnations{});
  }
}

/// A fenced static member, an assignor that the group refuses: reported once, as an error of the consumer's queue or by
/// the callback for errors, and then only to callers who ask.
void Poller::check_fatal() {
  std::array<char, 512> text{};
  const auto code = rd_kafka_fatal_error(client_, text.data(), text.size());
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR || failed_.exchange(true)) return;
  status_.count_error(rd_kafka_err2name(RD_KAFKA_RESP_ERR__FATAL));
  log_.error("kafka.fatal_error", {{"code", rd_kafka_err2name(code)}, {"error", text.data()}});
}

void Poller::use(kafka::Credentials credentials) {
  credentials_ = std::move(credentials);
  is_outdated_ = false;
}

void Poller::commit() {
  // Without an assignment there is nothing to commit, and the library would queue the request for a coordinator.
  if (partitions_.empty() || pending_commits_ > 0) return;
  const auto error = rd_kafka_commit(client_, lower_.get(), 1);
  lower_.reset();
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++pending_commits_;
  } else if (error != RD_KAFKA_RESP_ERR__NO_OFFSET) {
    complain("consumer.commit_failed", rd_kafka_err2str(error));
  }
}

void Poller::commit_and_wait(int wait_ms) {
  const kafka::Queue queue{rd_kafka_queue_new(client_)};
  const auto error = rd_kafka_commit_queue(client_, nullptr, queue.get(), nullptr, nullptr);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const std::unique_ptr<rd_kafka_event_t, kafka::Destroy> done{rd_kafka_queue_poll(queue.get(), wait_ms)};
  if (done == nullptr) return;
  rd_kafka_topic_partition_list_t* const offsets = rd_kafka_event_topic_partition_list(done.get());
  note_committed(rd_kafka_event_error(done.get()), offsets);
}

void Poller::on_commit(rd_kafka_t*, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* offsets, void* self) {
  auto* const poller = static_cast<Poller*>(self);
  poller->pending_commits_ = std::max(poller->pending_commits_ - 1, 0);
  poller->note_committed(error, offsets);
}

void Poller::note_committed(rd_kafka_resp_err_t error, const rd_kafka_topic_partition_list_t* offsets) {
  if (error == RD_KAFKA_RESP_ERR__NO_OFFSET) return;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    status_.count_error(rd_kafka_err2name(error));
    complain("consumer.commit_failed", rd_kafka_err2str(error));
    return;
  }
  status_.group_joined();
  for (int i = 0; offsets != nullptr && i < offsets->cnt; ++i) {
    if (offsets->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    complain("consumer.commit_failed", rd_kafka_err2str(offsets->elems[i].err));
  }
}

void Poller::on_error(rd_kafka_t*, int code, const char* reason, void* self) {
  auto* const poller = static_cast<Poller*>(self);
  if (code == RD_KAFKA_RESP_ERR__FATAL) return poller->check_fatal();
  poller->status_.count_error(rd_kafka_err2name(static_cast<rd_kafka_resp_err_t>(code)));
  if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL) {
    poller->status_.connection_refused(reason);
  }
  if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) poller->status_.connection_failed(reason);  // that explains nothing
  poller->complain("kafka.client_error", reason);
  poller->credentials_.note_failure();
}

void Poller::on_log(const rd_kafka_t* client, int level, const char*, const char* text) {
  auto* const poller = static_cast<Poller*>(rd_kafka_opaque(client));
  if (poller == nullptr) return;
  poller->recreated_.read_line(text);
  if (level < debug_level || poller->shows_debug_) {
    poller->log_.debug("kafka.client_log", {{"syslog_level", level}, {"text", text}});
  }
}

void Poller::count_partitions() {
  assigned_ = static_cast<int>(partitions_.size());
  reading_ = static_cast<int>(std::count_if(partitions_.begin(), partitions_.end(),
                                            [](const auto& entry) { return entry.second.life.is_read(); }));
}

void Poller::complain(std::string_view slug, const std::string& reason) {
  if (repeats_.is_news(std::string{slug} + reason)) log_.warn(slug, {{"reason", reason}});
}

}  // namespace inboxd::consumer
