#include "exchange.hpp"

#include <utility>

namespace http_handler {
namespace {

constexpr std::size_t max_reset_events = 10'000;
constexpr int max_resets = 3;

}  // namespace

bool Resets::note(const std::string& event_id) {
  if (counts_.size() >= max_reset_events) counts_.clear();
  if (++counts_[event_id] < max_resets) return false;
  counts_.erase(event_id);
  return true;
}

void Resets::suspect(const std::string& event_id) {
  if (counts_.size() >= max_reset_events) counts_.clear();
  counts_.try_emplace(event_id, 0);
}

Exchange::Exchange(const Target& target, std::unique_ptr<inboxd::OpenCall> call, const Resets& resets)
    : target_{target},
      call_{std::move(call)},
      is_together_{target.posts_batches && call_->events().size() > 1 && has_one_url() && is_without_suspects(resets)} {
}

/// An event that failed before is sent alone: in a batch it may be the cause of the failure of all.
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
    if (url && is_together_) return Next{*std::move(url), batch_of(target_, call, {events.begin(), events.end()})};
    if (url && target_.posts_batches) return Next{*std::move(url), batch_of(target_, call, {event})};
    if (url) return Next{*std::move(url), message_of(target_, call, event)};
    settle(event, inboxd::dead("a placeholder of url has no value, or a value that is no segment of a "
                               "path", "http.url"));
  }
  return std::nullopt;
}

/// After a failure the later events of the call are not sent, because they may have the same key.
void Exchange::settle(const inboxd::Event& event, const inboxd::Outcome& outcome) {
  call_->call().settle(event, outcome);
  ++at_;
  if (outcome.kind == INBOXD_DONE || outcome.kind == INBOXD_SKIPPED || at_ == call_->events().size()) return;
  for (; at_ < call_->events().size(); ++at_) {
    call_->call().settle(call_->events()[at_], inboxd::away(inboxd::Milliseconds{0}, "an earlier event has failed"));
  }
}

inboxd::Outcome Exchange::ended(const Answer& answer, Resets& resets) {
  if (is_together_) return together_ended(answer, resets);
  const inboxd::Event event = call_->events()[at_];
  auto outcome = outcome_of(target_, answer, std::chrono::system_clock::now());
  if (is_reset(answer) && resets.note(event.id())) outcome = inboxd::retry(outcome.message, "http.reset");
  if (outcome.kind == INBOXD_DONE) {
    resets.clear(event.id());
    if (target_.posts_batches) outcome = outcomes_in(target_, answer, {event}).front();
  }
  settle(event, outcome);
  return outcome;
}

inboxd::Outcome Exchange::together_ended(const Answer& answer, Resets& resets) {
  const auto outcome = outcome_of(target_, answer, std::chrono::system_clock::now());
  inboxd::Call& call = call_->call();
  const std::vector<inboxd::Event> events{call_->events().begin(), call_->events().end()};
  if (outcome.kind == INBOXD_DEAD || is_reset(answer)) {
    is_together_ = false;  // a single event is to blame: each is sent by itself
    if (is_reset(answer)) {
      for (const inboxd::Event& event : events) resets.suspect(event.id());
    }
    return outcome;
  }
  at_ = events.size();
  if (outcome.kind != INBOXD_DONE) {
    call.settle_rest(outcome);
    return outcome;
  }
  const std::vector<inboxd::Outcome> outcomes = outcomes_in(target_, answer, events);
  for (const inboxd::Event& event : events) call.settle(event, outcomes[event.index()]);
  return outcome;
}

}  // namespace http_handler
