#include "settler/settlement.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>
#include <utility>

#include "base/text.hpp"
#include "config/settings.hpp"

namespace inboxd::settler {
namespace {

/// Limits for a failure's texts. A handler wrote them, so they may hold any bytes, and any number of them.
constexpr std::size_t message_bytes = 2000;
constexpr std::size_t class_bytes = 100;
/// An order key is shown by this many bytes.
constexpr std::size_t max_key = 256;

/// `shorten` adds a mark where it cuts, on top of its limit.
constexpr std::size_t cut_mark_bytes = 3;

std::string tidy(const std::string& text, std::size_t limit) {
  const std::string kept = base::shorten(text, limit);  // first, so that a long text is not escaped in full
  std::string out;
  for (std::size_t begin = 0; begin <= kept.size();) {  // lines stay apart: only the first is logged
    const std::size_t end = std::min(kept.find('\n', begin), kept.size());
    out.append(begin == 0 ? "" : "\n").append(base::escape_controls(kept.substr(begin, end - begin)));
    begin = end + 1;
  }
  return base::shorten(out, limit - cut_mark_bytes);
}

/// Adds the offsets of events [first, end) of a run, without the gaps between them.
void add_offsets(event::OffsetSet& out, const std::vector<const event::Event*>& events, std::size_t first,
                 std::size_t end) {
  const std::int64_t span = events[end - 1]->offset - events[first]->offset;
  if (span == static_cast<std::int64_t>(end - first) - 1) {
    out.add({events[first]->offset, events[end - 1]->offset + 1});
    return;
  }
  for (std::size_t i = first; i < end; ++i) out.add(events[i]->offset);
}

/// Failures are alike if they have the same delay and, where the handler asked for it, the same error class.
bool alike(const inbox::RetryGroup& group, const std::optional<std::string>& group_class, const RetryIn& retry,
           const event::Verdict& verdict) {
  if (group.is_postponed() || group.is_deferred != (verdict.kind == event::Verdict::Kind::defer)) return false;
  if (group.delay != retry.delay || group_class.has_value() != verdict.delay.has_value()) return false;
  return !group_class || *group_class == verdict.error_class;
}

}  // namespace

double random01() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

std::chrono::milliseconds backoff_for(const config::Retry& retry, std::int32_t attempt, double random01) {
  const auto capped = static_cast<double>(config::delay_after(retry, attempt).count());
  const double factor = 1.0 + retry.jitter * (2.0 * random01 - 1.0);
  return std::chrono::milliseconds{std::llround(std::max(0.0, capped * factor))};
}

Transition transition_for(const event::Verdict& verdict, std::int32_t attempts, const config::Retry& retry,
                          double random01, std::optional<std::chrono::milliseconds> left) {
  if (verdict.kind == event::Verdict::Kind::done) return Done{};
  const std::int64_t attempt = std::int64_t{attempts} + 1;
  if (verdict.kind == event::Verdict::Kind::dead || attempt >= retry.max_attempts) return Dead{};
  RetryIn out{backoff_for(retry, static_cast<std::int32_t>(attempt), random01)};
  if (verdict.delay) out.delay = std::max(*verdict.delay, std::chrono::milliseconds{0});
  if (left && out.delay >= *left) return Expired{};
  return out;
}

std::optional<std::chrono::milliseconds> left_of(const Run& run, std::size_t index, event::Microseconds now) {
  const auto& most = run.policy->expire_after;
  if (!most || run.lease.never_expires) return std::nullopt;
  const event::Event& event = *run.lease.events[index];
  event::Microseconds since = event.occurred_at.value_or(event.received_at);
  if (event.deliver_at) since = std::max(since, *event.deliver_at);
  const std::chrono::microseconds age{now - since};
  return std::chrono::floor<std::chrono::milliseconds>(*most - age);
}

void SettlementBuilder::add(Report report) {
  std::size_t from = report.first;
  for (FailedEvent& failed : report.failed) {
    assert(from <= failed.index && failed.index < report.end);
    done_.add({static_cast<std::int64_t>(from), static_cast<std::int64_t>(failed.index)});
    from = failed.index + 1;
    event::Verdict& verdict = failed.verdict;
    verdict.error_class = verdict.error_class.empty() ? std::string{event::unnamed_class}
                                                    : tidy(verdict.error_class, class_bytes);
    verdict.message = tidy(verdict.message, message_bytes);
    failed_.push_back(std::move(failed));
  }
  done_.add({static_cast<std::int64_t>(from), static_cast<std::int64_t>(report.end)});
  events_ += report.end - report.first;
  assert(run_->recorded + events_ <= run_->size());
}

RunSettlement SettlementBuilder::take(double random01) {
  const inbox::LeasedRun& lease = run_->lease;
  RunSettlement out;
  inbox::Settlement& to = out.settlement;
  to.key = lease.key;
  // Offsets of purged events stay pending, so the row must stay.
  to.whole = complete() && static_cast<std::int64_t>(run_->size()) == lease.pending.count();
  if (to.whole && failed_.empty() && run_->recorded == 0) {
    to.done = lease.pending;
  } else {
    for (const auto& range : done_.ranges()) {
      add_offsets(to.done, lease.events, static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.end));
    }
  }
  out.counts.done = done_.count();

  if (run_->is_in_order()) out.keys.finished = done_;

  std::sort(failed_.begin(), failed_.end(),
            [](const FailedEvent& a, const FailedEvent& b) { return a.index < b.index; });
  for (FailedEvent& failed : failed_) settle_failed(failed, random01, out);
  to.is_of_lane = lease.lane.has_value();
  group_classes_.clear();
  done_ = {};
  failed_.clear();
  events_ = 0;
  return out;
}

void SettlementBuilder::settle_failed(FailedEvent& failed, double random01, RunSettlement& out) {
  using Kind = FailedEvent::Kind;
  if (failed.kind == Kind::expired) return expired(failed, out);
  if (failed.kind == Kind::early) return postpone(failed, out);
  if (failed.kind != Kind::failed) return wait(failed, out);
  if (failed.verdict.kind == event::Verdict::Kind::skipped) return skip(failed, out);
  if (failed.verdict.kind == event::Verdict::Kind::defer) return defer(failed, random01, out);
  const inbox::LeasedRun& lease = run_->lease;
  const auto left = run_->policy->expire_after ? left_of(*run_, failed.index, run_->owner->now()) : std::nullopt;
  const Transition transition = transition_for(failed.verdict, lease.attempts, run_->policy->retry, random01, left);
  if (const auto* in = std::get_if<RetryIn>(&transition)) {
    retry(failed, *in, out);
  } else if (std::holds_alternative<Expired>(transition)) {
    expired(failed, out);
  } else {
    dead(failed, out);
  }
  out.settlement.failures.push_back({lease.events[failed.index]->event_id, lease.attempts + 1,
                                     std::move(failed.verdict.error_class), std::move(failed.verdict.message),
                                     failed.duration});
}

/// At the handler's wish, uncharged: no failure is recorded. Later events of its key wait as they wait for a retry.
void SettlementBuilder::defer(FailedEvent& deferred, double random01, RunSettlement& out) {
  const auto left = run_->policy->expire_after ? left_of(*run_, deferred.index, run_->owner->now()) : std::nullopt;
  const auto delay = deferred.verdict.delay.value_or(backoff_for(run_->policy->retry, 1, random01));
  deferred.kind = FailedEvent::Kind::expired;  // no attempt, if it expires before the next attempt
  if (left && delay >= *left) return expired(deferred, out);
  retry(deferred, RetryIn{delay}, out);
}

/// An event that blocks its key has a row of its own, the first of its lane.
void SettlementBuilder::retry(const FailedEvent& failed, RetryIn retry, RunSettlement& out) {
  std::vector<inbox::RetryGroup>& groups = out.settlement.retries;
  const event::Verdict& verdict = failed.verdict;
  auto key = run_->on_failure == config::OnFailure::skip ? std::nullopt : key_of(failed.index);
  std::size_t i = 0;
  while (i < groups.size() && (key || groups[i].key || !alike(groups[i], group_classes_[i], retry, verdict))) ++i;
  std::string error = verdict.error_class + ": " + verdict.message;
  if (i < groups.size() && groups[i].last_error != error) {
    groups[i].last_error.reset();
    // No failure is recorded for a deferred event, and its error tells it from a fresh event.
    if (groups[i].is_deferred) groups[i].last_error = verdict.error_class + ": deferred for several reasons";
  }
  if (run_->is_in_order()) {
    if (key) {
      out.keys.blocking.push_back(failed.index);
    } else {
      out.keys.finished.add(static_cast<std::int64_t>(failed.index));
    }
  }
  if (i == groups.size()) {
    const bool is_deferred = verdict.kind == event::Verdict::Kind::defer;
    groups.push_back({{}, retry.delay, std::move(error), std::move(key), is_deferred});
    group_classes_.push_back(verdict.delay ? std::optional{verdict.error_class} : std::nullopt);
  }
  groups[i].offsets.add(run_->lease.events[failed.index]->offset);
  ++(groups[i].is_deferred ? out.counts.deferred : out.counts.retried);
}

/// Its time has not come: no attempt. Later events of its key wait, whatever `on_failure` says, because nothing failed.
void SettlementBuilder::postpone(const FailedEvent& early, RunSettlement& out) {
  std::vector<inbox::RetryGroup>& groups = out.settlement.retries;
  const event::Event& event = *run_->lease.events[early.index];
  const std::chrono::microseconds left{event.deliver_at.value_or(0) - run_->owner->now()};
  const auto delay = std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds{0});
  auto key = key_of(early.index);
  if (key) {
    out.keys.blocking.push_back(early.index);
  } else if (run_->is_in_order()) {
    out.keys.finished.add(static_cast<std::int64_t>(early.index));
  }
  const bool joins = !key && !groups.empty() && groups.back().is_postponed() && !groups.back().key &&
                     groups.back().delay == delay;
  if (!joins) {
    groups.push_back({{}, delay, std::nullopt, std::move(key), true});
    group_classes_.emplace_back();
  }
  groups.back().offsets.add(event.offset);
  ++out.counts.deferred;
}

void SettlementBuilder::dead(const FailedEvent& failed, RunSettlement& out) {
  const event::Event& event = *run_->lease.events[failed.index];
  auto key = key_of(failed.index);
  const bool parks = key && run_->on_failure == config::OnFailure::park;
  if (parks) {
    out.keys.parking.push_back(failed.index);
  } else if (run_->is_in_order()) {
    out.keys.finished.add(static_cast<std::int64_t>(failed.index));
  }
  using State = inbox::DeadEvent::State;
  out.settlement.dead.push_back({event.offset, event.event_id, parks ? State::parks : State::dead, std::move(key)});
  ++out.counts.dead;
}

/// Before a call, or after a failed call. Later events of its key do not wait for it.
void SettlementBuilder::expired(const FailedEvent& failed, RunSettlement& out) {
  const event::Event& event = *run_->lease.events[failed.index];
  using State = inbox::DeadEvent::State;
  const State state = failed.kind == FailedEvent::Kind::expired ? State::expired : State::expires;
  if (run_->is_in_order()) out.keys.finished.add(static_cast<std::int64_t>(failed.index));
  out.settlement.dead.push_back({event.offset, event.event_id, state, key_of(failed.index)});
  ++out.counts.expired;
}

/// By the handler: no failure, and later events of its key may run.
void SettlementBuilder::skip(const FailedEvent& skipped, RunSettlement& out) {
  if (run_->is_in_order()) out.keys.finished.add(static_cast<std::int64_t>(skipped.index));
  out.settlement.skipped.add(run_->lease.events[skipped.index]->offset);
  ++out.counts.skipped;
}

/// An event that was not called, because its key is blocked or parked.
void SettlementBuilder::wait(const FailedEvent& failed, RunSettlement& out) {
  const event::Event& event = *run_->lease.events[failed.index];
  out.keys.waiting.push_back(failed.index);
  ++out.counts.waiting;
  auto key = key_of(failed.index);
  if (failed.kind == FailedEvent::Kind::parked) {
    out.settlement.dead.push_back({event.offset, event.event_id, inbox::DeadEvent::State::parked, std::move(key)});
    return;
  }
  std::vector<inbox::WaitingEvents>& lanes = out.settlement.waiting;
  auto lane = std::find_if(lanes.begin(), lanes.end(),
                           [&](const inbox::WaitingEvents& each) { return each.lane == key->lane; });
  if (lane == lanes.end()) lane = lanes.insert(lane, {key->lane, {}, std::move(key->key)});
  lane->offsets.add(event.offset);
}

std::optional<inbox::FailedKey> SettlementBuilder::key_of(std::size_t index) const {
  const envelope::KeyHash hash = run_->key_of(index);
  if (hash == envelope::no_order_key) return std::nullopt;
  base::Arena arena{1024};
  const auto key = run_->key_rule.find(*run_->lease.events[index], arena, unwrap_of(*run_));
  inbox::FailedKey out{hash, std::nullopt};
  if (key) out.key = std::string{key->substr(0, max_key)};
  return out;
}

}  // namespace inboxd::settler
