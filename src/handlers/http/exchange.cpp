#include "exchange.hpp"

#include <utility>

namespace http_handler {
namespace {

constexpr std::size_t most_reset_events = 10'000;
constexpr int most_resets = 3;

}  // namespace

bool Resets::note(const std::string& event_id) {
  if (counts_.size() >= most_reset_events) counts_.clear();
  if (++counts_[event_id] < most_resets) return false;
  counts_.erase(event_id);
  return true;
}

void Resets::suspect(const std::string& event_id) {
  if (counts_.size() >= most_reset_events) counts_.clear();
  counts_.try_emplace(event_id, 0);
}

Exchange::Exchange(const Target& target, std::unique_ptr<inboxd::OpenCall> call, const Resets& resets)
    : target_{target},
      call_{std::move(call)},
      is_batch_{call_->events().size() > 1 && target.style != Style::dapr && has_one_url() &&
                is_without_suspects(resets)} {}

/// An event that failed before is sent alone: one of a batch may be the cause of the failure of all.
bool Exchange::is_without_suspects(const Resets& resets) const {
  for (const inboxd::Event event : call_->events()) {
    if (event.attempt() > 1 || resets.is_suspect(event.id())) return false;
  }
  return true;
}

bool Exchange::has_one_url() const {
  if (!target_.url.has_placeholders()) return true;
  const inboxd::Events& events = call_->events();
  const auto first = target_.url.url_for(events[0]);
  for (const inboxd::Event event : events) {
    if (!first || target_.url.url_for(event) != first) return false;
  }
  return true;
}

bool Exchange::is_cancelled() const { return call_->call().is_cancelled() && call_->call().time_left().count() > 0; }

std::optional<Exchange::Next> Exchange::next() {
  inboxd::Call& call = call_->call();
  const inboxd::Events& events = call_->events();
  while (at_ < events.size()) {
    if (at_ > 0 && call.is_cancelled()) return std::nullopt;  // the rest is called again, uncharged
    const inboxd::Event event = events[at_];
    auto url = target_.url.url_for(event);
    if (url && is_batch_) {
      Message batch = batch_of(target_, call, events);
      return Next{*std::move(url), std::move(batch)};
    }
    if (url) return Next{*std::move(url), message_of(target_, call, event)};
    settle(event, inboxd::dead("a placeholder of url has no value, or one that is no segment of a path", "http.url"));
  }
  return std::nullopt;
}

/// After a failure the later events of the call are not sent: one of them may have the same key.
void Exchange::settle(const inboxd::Event& event, const inboxd::Outcome& outcome) {
  call_->call().settle(event, outcome);
  ++at_;
  if (outcome.kind == INBOXD_DONE || outcome.kind == INBOXD_SKIPPED || at_ == call_->events().size()) return;
  for (; at_ < call_->events().size(); ++at_) {
    call_->call().settle(call_->events()[at_], inboxd::away(inboxd::Milliseconds{0}, "an earlier event has failed"));
  }
}

inboxd::Outcome Exchange::ended(const Answer& answer, Resets& resets) {
  if (is_batch_) return batch_ended(answer, resets);
  const inboxd::Event event = call_->events()[at_];
  auto outcome = outcome_of(target_, answer, std::chrono::system_clock::now());
  if (is_reset(answer) && resets.note(event.id())) outcome = inboxd::retry(outcome.message, "http.reset");
  if (outcome.kind == INBOXD_DONE) resets.clear(event.id());
  settle(event, outcome);
  return outcome;
}

inboxd::Outcome Exchange::batch_ended(const Answer& answer, Resets& resets) {
  const auto outcome = outcome_of(target_, answer, std::chrono::system_clock::now());
  if (outcome.kind == INBOXD_DEAD || is_reset(answer)) {
    is_batch_ = false;  // one of the events is to blame: each is sent by itself
    if (is_reset(answer)) {
      for (const inboxd::Event event : call_->events()) resets.suspect(event.id());
    }
    return outcome;
  }
  at_ = call_->events().size();
  if (outcome.kind == INBOXD_DONE) {
    settle_named(answer);
  } else {
    call_->call().settle_rest(outcome);
  }
  return outcome;
}

void Exchange::settle_named(const Answer& answer) {
  inboxd::Call& call = call_->call();
  try {
    std::unordered_map<std::string, inboxd::Outcome> named;
    for (handlers::Answer& each : verdicts_in(answer)) named[each.event_id] = std::move(each.outcome);
    for (const inboxd::Event event : call_->events()) {
      auto found = named.find(event.id());
      if (found == named.end()) found = named.find(event.source_id());  // the `id` of its CloudEvent
      if (found == named.end()) {
        call.settle(event, inboxd::done());
      } else {
        call.settle(event, found->second);
        named.erase(found);
      }
    }
    if (!named.empty()) throw std::runtime_error{"a verdict in its list is on no event of the request"};
  } catch (const std::exception& mistake) {
    const auto retry =
        inboxd::retry("POST " + target_.url.shown() + " was answered 2xx, but " + mistake.what(), "http.broken_answer");
    for (const inboxd::Event event : call_->events()) call.settle(event, retry);
  }
}

}  // namespace http_handler
