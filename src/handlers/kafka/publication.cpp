#include "publication.hpp"

#include <algorithm>
#include <utility>

#include "delivery_failure.hpp"
#include "record_headers.hpp"

namespace kafka_handler {
namespace {

using inboxd::Milliseconds;

constexpr Milliseconds max_reserve{2'000};
constexpr Milliseconds until_room{50};

}  // namespace

Publication::Publication(const Target& target, std::unique_ptr<inboxd::OpenCall> call)
    : target_{target},
      open_{std::move(call)},
      reserve_{std::min(max_reserve, open_->call().time_left() / 4)},
      slots_(open_->events().size()) {
  for (Slot& slot : slots_) slot.publication = this;
}

void Publication::send(Client& client) {
  for (const inboxd::Event event : open_->events()) send_one(client, event);
}

void Publication::send_one(Client& client, const inboxd::Event& event) {
  const auto key = event.key();
  if (key && failed_keys_.count(*key) > 0) {
    return refuse(event, inboxd::away(Milliseconds{0}, "an event of the same key before it failed", "kafka.behind"));
  }
  auto name = target_.topic.of(event);
  if (!name.problem.empty()) {
    const char* const error = name.is_allowed ? "kafka.invalid_topic" : "kafka.topic_not_allowed";
    return refuse(event, inboxd::dead(name.problem, error));
  }
  if (!target_.properties.is_own_cluster && name.text == event.topic()) {
    name.text.append(": setting 'topic' leads back to the topic from which the event came");
    return refuse(event, for_one(inboxd::pause(std::move(name.text), "kafka.circle")));
  }
  Slot& slot = slots_[event.index()];
  slot.topic = std::move(name.text);
  slot.span.emplace(open_->call().publish_span(event, "kafka", slot.topic));
  produce(client, event);
}

void Publication::produce(Client& client, const inboxd::Event& event) {
  Slot& slot = slots_[event.index()];
  slot.result.reset();
  const auto payload = target_.is_decoded && event.payload() ? event.json() : event.payload();
  if (event.payload() && !payload) return refuse(event, inboxd::dead("the payload is not JSON", "kafka.not_json"));
  const auto error = client.produce(
      {slot.topic, event.key(), payload, time_of(event)},
      headers_of(event, payload, target_.is_decoded, target_.keeps_headers, slot.span->traceparent(),
                 open_->call().tracestate(event)),
      &slot);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++awaited_;
  } else if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
    refuse(event, inboxd::away(until_room, "the client's queue is full", "kafka.queue_full"));
  } else {
    refuse(event, outcome_of(error, slot.topic));
  }
}

/// Milliseconds since 1970; 0: now, by this machine's clock. After a refused batch that clock may be wrong, and the
/// database's decides. Not always: the time of a replayed event may be beyond the topic's retention.
std::int64_t Publication::time_of(const inboxd::Event& event) const {
  const auto received = event.received_at();
  if (!was_sent_alone_ || !received) return 0;
  return std::chrono::duration_cast<std::chrono::milliseconds>(received->time_since_epoch()).count();
}

/// With placeholders a topic is a single event's own, which must not pause the handler.
inboxd::Outcome Publication::for_one(inboxd::Outcome outcome) const {
  if (outcome.kind == INBOXD_PAUSE && !target_.topic.is_fixed()) outcome.kind = INBOXD_DEAD;
  return outcome;
}

/// Later events of its key wait: the dispatcher calls them again in their order.
void Publication::refuse(const inboxd::Event& event, inboxd::Outcome outcome) {
  if (const auto key = event.key()) failed_keys_.insert(*key);
  slots_[event.index()].outcome = std::move(outcome);
}

void Publication::report(Slot& slot, rd_kafka_resp_err_t result) {
  slot.result = result;
  --awaited_;
}

bool Publication::has_unclear_culprit() const {
  return !was_sent_alone_ && std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.result && may_be_of_another(*slot.result);
  });
}

void Publication::give_up(const inboxd::Outcome& outcome) {
  for (Slot& slot : slots_) slot.outcome = outcome;
}

bool Publication::send_alone(Client& client) {
  was_sent_alone_ = true;
  std::unordered_set<std::string_view> keys;
  for (const inboxd::Event event : open_->events()) {
    const Slot& slot = slots_[event.index()];
    if (slot.outcome || !slot.result) continue;
    const auto key = event.key();
    const bool is_behind = key && keys.count(*key) > 0;
    if (!may_be_of_another(*slot.result) && !(is_behind && *slot.result == RD_KAFKA_RESP_ERR_NO_ERROR)) continue;
    if (key) keys.insert(*key);
    produce(client, event);
  }
  return awaited_ > 0;
}

/// nullopt: none, because the call was cancelled before its deadline.
std::optional<inboxd::Outcome> Publication::outcome_at(std::size_t index) const {
  const Slot& slot = slots_[index];
  if (slot.outcome) return slot.outcome;
  if (slot.result && !is_withdrawn(*slot.result)) return for_one(outcome_of(*slot.result, slot.topic));
  if (late_) return late_;
  if (is_cancelled() && open_->call().time_left().count() > 0) return std::nullopt;
  return inboxd::away(Milliseconds{0},
                      "the record was withdrawn together with the records of another "
                      "call",
                      "kafka.withdrawn");
}

void Publication::finish() {
  for (const inboxd::Event event : open_->events()) {
    const auto outcome = outcome_at(event.index());
    auto& span = slots_[event.index()].span;
    if (span && outcome) outcome->kind == INBOXD_DONE ? span->sent() : span->failed(outcome->error_class);
    if (outcome) open_->call().settle(event, *outcome);
    span.reset();
  }
  open_->finish();
}

}  // namespace kafka_handler
