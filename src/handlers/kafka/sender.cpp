#include "sender.hpp"

#include <pthread.h>

#include <utility>

#include "delivery_failure.hpp"

namespace kafka_handler {
namespace {

constexpr std::chrono::milliseconds look_interval{20};
constexpr int question_ms = 300;
constexpr std::chrono::seconds question_interval{2};
constexpr std::chrono::seconds away_time{10};  ///< after a sign that brokers are away
/// After a failed connection. The library reports an error that repeats every 30 s only.
constexpr std::chrono::seconds renewal_time{60};
constexpr std::chrono::seconds renewal_interval{1};

}  // namespace

Sender::Sender(const Target& target, inboxd::Log log)
    : target_{target},
      log_{log},
      single_properties_{target.properties.all},
      client_{std::make_unique<Client>(target.properties.all, log_)} {
  single_properties_["batch.num.messages"] = "1";
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "kafka");
}

Sender::~Sender() {
  new_calls_.stop([&] { client_->wake(); });
  thread_.join();
}

void Sender::send(std::unique_ptr<inboxd::OpenCall> call) {
  new_calls_.add(std::move(call), [&] { client_->wake(); });
}

void Sender::run() {
  while (take_on()) {
    poll(client_, static_cast<int>(look_interval.count()));
    if (single_) poll(single_, 0);
    end_complete();
    if (is_broken_) replace_broken();
    if (Clock::now() < next_look_) continue;
    next_look_ = Clock::now() + look_interval;
    withdraw_overdue();
    if (Clock::now() >= next_renewal_ && Clock::now() < last_renewal_) renew();
  }
}

/// Takes secrets that were rotated in their files.
void Sender::renew() {
  next_renewal_ = Clock::now() + renewal_interval;
  client_->renew_token();
  if (single_) single_->renew_token();
  if (!client_->is_outdated()) return;
  log_.info("Kafka client: replaced, because certificates have changed in their files");
  is_broken_ = true;
}

/// New calls; false: the handler ends.
bool Sender::take_on() {
  auto calls = new_calls_.take();
  if (!calls) return false;
  for (auto& call : *calls) {
    auto publication = std::make_unique<Publication>(target_, std::move(call));
    Publication* const key = publication.get();
    open_.emplace(key, std::move(publication));
    key->send(*client_);
    reported_.push_back(key);  // perhaps nothing was sent
  }
  return true;
}

void Sender::poll(std::unique_ptr<Client>& client, int limit_ms) {
  while (const Event event = client->poll(reported_.empty() ? limit_ms : 0)) {
    take(*event);
    limit_ms = 0;
  }
}

void Sender::take(rd_kafka_event_t& event) {
  if (rd_kafka_event_type(&event) == RD_KAFKA_EVENT_ERROR) {
    last_error_ = rd_kafka_event_error_string(&event);
    away_until_ = Clock::now() + away_time;
    last_renewal_ = Clock::now() + renewal_time;
    if (rd_kafka_event_error_is_fatal(&event) == 0) return;
    log_.error("Kafka client: replaced after a fatal error: " + last_error_);
    is_broken_ = true;
    return;
  }
  while (const rd_kafka_message_t* const message = rd_kafka_event_message_next(&event)) {
    auto& slot = *static_cast<Publication::Slot*>(message->_private);
    slot.publication->report(slot, message->err);
    // The client keeps a refusal for minutes, also once an operator has given the right.
    is_broken_ = is_broken_ || is_denied(message->err);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && away_.ends()) log_.info("the brokers answer again");
    if (slot.publication->is_complete()) reported_.push_back(slot.publication);
  }
}

void Sender::end_complete() {
  for (Publication* const each : std::exchange(reported_, {})) {
    const auto found = open_.find(each);
    if (found == open_.end() || !each->is_complete()) continue;
    if (each->has_unclear_culprit()) {
      if (!single_ && !is_broken_) single_ = made(single_properties_);
      if (single_ && !is_broken_ && each->send_alone(*single_)) continue;
      if (!single_ || is_broken_) each->give_up(inboxd::away(pause_between, "the Kafka client starts", "kafka.start"));
    }
    each->finish();
    open_.erase(found);
  }
}

/// A record that its call cannot wait for must not be written later. librdkafka withdraws all or none.
void Sender::withdraw_overdue() {
  bool any = false;
  std::optional<inboxd::Outcome> late;
  for (const auto& [key, publication] : open_) {
    if (!publication->is_overdue() && !publication->is_cancelled()) continue;
    any = true;
    if (!publication->is_overdue()) continue;
    if (!late) late = late_outcome();
    publication->note_overdue(*late);
  }
  if (!any) return;
  client_->withdraw();
  if (single_) single_->withdraw();
}

inboxd::Outcome Sender::late_outcome() {
  // Not charged soon after an outage: brokers that have just come back acknowledge before long.
  if (Clock::now() >= next_question_) {  // it takes time from other calls
    is_answered_ = client_->is_answered(question_ms);
    next_question_ = Clock::now() + question_interval;
  }
  if (!is_answered_) away_until_ = Clock::now() + away_time;
  if (is_answered_ && Clock::now() < away_until_) {
    return inboxd::away(pause_between, "no acknowledgement within the deadline of the call", "kafka.timed_out");
  }
  if (is_answered_) {
    return inboxd::retry(
        "the brokers answer, but have not acknowledged the record within the deadline of the call; "
        "is a partition without leader or in-sync replicas?",
        "kafka.timed_out");
  }
  if (away_.begins()) log_.warn("the brokers do not answer, events wait uncharged: " + last_error_);
  return inboxd::away(pause_between, "the brokers do not answer" + (last_error_.empty() ? "" : ": " + last_error_),
                      "kafka.unreachable");
}

void Sender::replace_broken() {
  client_->withdraw();
  if (single_) single_->withdraw();
  while (!open_.empty()) {
    poll(client_, static_cast<int>(look_interval.count()));
    if (single_) poll(single_, 0);
    end_complete();
  }
  single_.reset();
  auto fresh = made(target_.properties.all);
  if (!fresh) return std::this_thread::sleep_for(pause_between);  // calls that come meanwhile are refused uncharged
  new_calls_.locked([&] { client_.swap(fresh); });                // `send` wakes the client
  is_broken_ = false;
}

/// Null: the client cannot start, as without a certificate's file.
std::unique_ptr<Client> Sender::made(const Properties& properties) {
  try {
    return std::make_unique<Client>(properties, log_);
  } catch (const std::exception& refused) {
    log_.error(refused.what());
    return nullptr;
  }
}

}  // namespace kafka_handler
