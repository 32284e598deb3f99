#include "workers/work_batch.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "config/topics.hpp"

namespace inboxd::dispatcher {
namespace {

/// If the handler does not say how long its service is away.
constexpr std::chrono::milliseconds usually_away{1'000};
/// The error class of an event without a verdict.
constexpr const char* no_verdict_class = "no-verdict";

const config::RetryRule* rule_for(const settler::Run& run, const event::Verdict& verdict) {
  if (!verdict.is_failure()) return nullptr;
  const std::string_view error{verdict.error_class};
  return config::rule_for(run.policy->retry, error.empty() ? event::unnamed_class : error);
}

bool is_pausing(const settler::Run& run, const event::Verdict& verdict) {
  const auto* const rule = rule_for(run, verdict);
  return rule != nullptr && rule->then == config::RetryRule::Then::pause;
}

/// Whether the verdict leaves its event unhandled, and stops the handler for a while.
bool is_stopping(const settler::Run& run, const event::Verdict& verdict) {
  using Kind = event::Verdict::Kind;
  return verdict.kind == Kind::away || verdict.kind == Kind::pause || is_pausing(run, verdict);
}

std::string error_text(const event::Verdict& verdict) {
  const std::string error{verdict.error_class.empty() ? event::unnamed_class : std::string_view{verdict.error_class}};
  const std::string line = verdict.message.substr(0, verdict.message.find('\n'));  // later lines may quote the event
  return error + (line.empty() ? "" : ": " + line);
}

/// The reason of a pause, for operators.
std::string pause_reason(const event::Verdict& verdict, const base::Uuid& event_id) {
  return (verdict.kind == event::Verdict::Kind::pause ? "" : "retry.rules: ") + error_text(verdict) + " (event " +
         event_id.text() + ")";
}

}  // namespace

std::size_t WorkBatch::index_of(const Position& position) const {
  return position.entered ? position.index : slices_[position.slice].first;
}

void WorkBatch::advance(Position& position, std::size_t events) const {
  while (events > 0 && !at_end(position)) {
    const RunSlice& slice = slices_[position.slice];
    const std::size_t index = index_of(position);
    const std::size_t step = std::min(events, slice.end - index);
    events -= step;
    position = index + step == slice.end ? Position{position.slice + 1, 0, false}
                                         : Position{position.slice, index + step, true};
  }
}

/// Visits (slice number, first, end) of each part of a slice between two positions.
template <class Visit>
void WorkBatch::each_part(const Position& from, const Position& to, Visit visit) const {
  for (Position at = from; at.slice <= to.slice && !at_end(at); at = Position{at.slice + 1, 0, false}) {
    const std::size_t first = index_of(at);
    const std::size_t end =
        at.slice < to.slice ? slices_[at.slice].end : (to.entered ? to.index : slices_[at.slice].first);
    if (first < end) visit(at.slice, first, end);
  }
}

std::vector<RunSlice> WorkBatch::parts(const Position& from, const Position& to) const {
  std::vector<RunSlice> out;
  each_part(from, to, [&](std::size_t number, std::size_t first, std::size_t end) {
    out.push_back({slices_[number].run, first, end, slices_[number].one_by_one});
  });
  return out;
}

/// Returns the size of the next call: all events before the first that must run alone, or that event. In a sequence, a
/// slice may begin the next call, and an event whose key has failed ends it.
std::size_t WorkBatch::together(std::size_t most) const {
  std::size_t events = 0;
  for (Position at = end_; events < most && !at_end(at); at = Position{at.slice + 1, 0, false}) {
    const RunSlice& slice = slices_[at.slice];
    if (slice.one_by_one) return std::max<std::size_t>(events, 1);
    if (slice.begins_call && !at.entered && events > 0) return events;
    if (stopped_keys_.empty() && call_starts_.empty()) {
      events += slice.end - index_of(at);
      continue;
    }
    for (std::size_t i = index_of(at); i < slice.end && events < most; ++i, ++events) {
      const bool begins = events > 0 && call_starts_.contains({slice.run.get(), i});
      if (begins || stopped_keys_.contains(order_key_of(*slice.run, i))) return events;
    }
  }
  return std::min(events, most);
}

bool WorkBatch::begin_call(std::size_t events) {
  begin_ = end_;
  if (paused_by_ || away_for_) return false;
  while (!stopped_keys_.empty() && !at_end(end_) && note_behind_failed(end_.slice, index_of(end_))) {
    advance(end_, 1);
    begin_ = end_;
  }
  advance(end_, together(events));
  return call_size() > 0;
}

/// The verdict as the handler's rules change it.
event::Verdict WorkBatch::ruled(const settler::Run& run, event::Verdict verdict) {
  const auto* const rule = rule_for(run, verdict);
  if (rule == nullptr || rule->then == config::RetryRule::Then::pause) return verdict;
  using Kind = event::Verdict::Kind;
  verdict.kind = rule->then == config::RetryRule::Then::dead ? Kind::dead : Kind::retry;
  return verdict;
}

/// nullopt: they run.
std::optional<WorkBatch::Later> WorkBatch::later_events(const settler::Run& run, const event::Verdict& verdict,
                                                        bool interrupted) {
  if (!run.is_in_order()) return std::nullopt;
  if (interrupted) return Later::interrupt;
  if (run.on_failure == config::OnFailure::skip || verdict.is_finished()) return std::nullopt;
  if (verdict.kind == event::Verdict::Kind::defer) return Later::wait;
  // The last attempt makes a dead letter of it, which blocks nothing.
  const bool is_last = std::int64_t{run.lease.attempts} + 1 >= run.policy->retry.max_attempts;
  if (verdict.kind == event::Verdict::Kind::retry && !is_last) return Later::wait;
  return run.on_failure == config::OnFailure::park ? std::optional{Later::park} : std::nullopt;
}

/// Notes an event that is not done, and its key.
void WorkBatch::note(std::size_t number, std::size_t index, const event::Verdict& given,
                     std::chrono::milliseconds duration, bool interrupted, bool one_by_one) {
  const settler::Run& run = *slices_[number].run;
  const event::Verdict verdict = ruled(run, given);
  if (!interrupted && is_stopping(run, verdict)) {
    interrupted = true;
    if (verdict.kind == event::Verdict::Kind::away) {
      const auto delay = verdict.delay.value_or(usually_away);
      if (!away_for_ || delay > *away_for_) away_error_ = error_text(verdict);
      away_for_ = std::max(away_for_.value_or(delay), delay);
    } else if (!paused_by_) {
      paused_by_ = pause_reason(verdict, run.lease.events[index]->event_id);
    }
  }
  if (const auto later = later_events(run, verdict, interrupted)) {
    if (const OrderKey key = order_key_of(run, index); key != 0) stopped_keys_.emplace(key, *later);
  }
  if (verdict.is_finished()) ++count_.done;
  if (verdict.is_failure() && !interrupted) {
    ++count_.failed;
    count_.error_class = verdict.error_class.empty() ? std::string{event::unnamed_class} : verdict.error_class;
  }
  failures_.push_back({number, {index, verdict, duration}, interrupted, one_by_one});
}

/// If the event's key has failed or was interrupted, the event was not called, whatever its verdict.
bool WorkBatch::note_behind_failed(std::size_t number, std::size_t index) {
  const auto stopped = stopped_keys_.find(order_key_of(*slices_[number].run, index));
  if (stopped == stopped_keys_.end()) return false;
  using Kind = settler::FailedEvent::Kind;
  const Kind kind = stopped->second == Later::park ? Kind::parked : Kind::waits;
  failures_.push_back({number,
                       {index, {}, std::chrono::milliseconds{0}, kind},
                       stopped->second == Later::interrupt,
                       slices_[number].one_by_one});
  return true;
}

bool WorkBatch::cut_out_of_order(const std::vector<event::Verdict>& verdicts) {
  std::unordered_set<OrderKey> failed;
  std::size_t given = 0;
  bool any = false;
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    const settler::Run& run = *slices_[number].run;
    for (std::size_t i = first; i < end && given < verdicts.size(); ++i, ++given) {
      const OrderKey key = order_key_of(run, i);
      if (key == 0) continue;
      if (later_events(run, ruled(run, verdicts[given]), is_stopping(run, verdicts[given]))) {
        failed.insert(key);
      } else if (verdicts[given].is_finished() && failed.contains(key)) {
        call_starts_.insert({&run, i});
        any = true;
      }
    }
  });
  return any;
}

bool WorkBatch::is_next_taken(std::chrono::steady_clock::time_point now) const {
  if (at_end(end_)) return false;
  const settler::Run& run = *slices_[end_.slice].run;
  return run.lost || run.leased_until.load() <= now;
}

std::size_t WorkBatch::call_size() const {
  std::size_t size = 0;
  each_part(begin_, end_, [&](std::size_t, std::size_t first, std::size_t end) { size += end - first; });
  return size;
}

bool WorkBatch::is_call_taken(std::chrono::steady_clock::time_point now) const {
  bool taken = false;
  each_part(begin_, end_, [&](std::size_t number, std::size_t, std::size_t) {
    const settler::Run& run = *slices_[number].run;
    taken = taken || run.lost || run.leased_until.load() <= now;
  });
  return taken;
}

void WorkBatch::deliver(std::vector<plugin::Delivered>& to) const {
  to.clear();
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    const inbox::LeasedRun& lease = slices_[number].run->lease;
    const config::Unwrap unwrap = settler::unwrap_of(*slices_[number].run);
    for (std::size_t i = first; i < end; ++i) {
      to.push_back(
          {lease.events[i], lease.place->topic, lease.place->partition, lease.attempts + 1, lease.has_content});
      to.back().lease = lease.key;
      to.back().unwrap = unwrap;
    }
  });
}

CallCount WorkBatch::end_call(std::vector<event::Verdict> verdicts, std::chrono::milliseconds duration,
                              Cancelled cancelled) {
  count_ = {};
  const bool one_by_one = cancelled == Cancelled::one_by_one && call_size() > 1;
  std::size_t given = 0;
  each_part(begin_, end_, [&](std::size_t number, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i, ++given) {
      if (!stopped_keys_.empty() && note_behind_failed(number, i)) continue;
      if (given >= verdicts.size()) {
        const event::Verdict none{event::Verdict::Kind::retry, std::nullopt, no_verdict_class,
                                  "the handler returned no verdict for the event"};
        note(number, i, none, duration, false, false);
      } else if (verdicts[given].kind != event::Verdict::Kind::done) {
        const bool is_cancelled = verdicts[given].error_class == event::cancelled_class;
        const bool interrupted = is_cancelled && (cancelled == Cancelled::interrupted || one_by_one);
        note(number, i, verdicts[given], duration, interrupted, one_by_one);
      } else {
        ++count_.done;
      }
    }
  });
  begin_ = end_;
  return std::exchange(count_, {});
}

CallCount WorkBatch::fail_call(const event::Verdict& verdict, std::chrono::milliseconds duration) {
  return end_call(std::vector(call_size(), verdict), duration, Cancelled::failed);
}

std::vector<RunSlice> WorkBatch::split_call() const {
  std::vector<RunSlice> slices = call_slices();
  for (RunSlice& slice : slices) slice.one_by_one = true;
  return slices;
}

void WorkBatch::keep_first() {
  end_ = begin_;
  advance(end_, 1);
}

void WorkBatch::rewind() {
  begin_ = end_ = reported_;
  failures_.clear();
  paused_by_.reset();
  away_for_.reset();
  stopped_keys_ = reported_stops_;
}

std::vector<RunSlice> WorkBatch::take_unreported() {
  auto out = parts(reported_, begin_);
  failures_.clear();
  stopped_keys_ = reported_stops_;
  reported_ = begin_;
  return out;
}

std::vector<settler::Report> WorkBatch::take_finished() {
  std::vector<settler::Report> out;
  auto failure = failures_.begin();
  each_part(reported_, begin_, [&](std::size_t number, std::size_t first, std::size_t end) {
    const auto& run = slices_[number].run;
    settler::Report report{run, first, end, {}};
    for (; failure != failures_.end() && failure->slice == number; ++failure) {
      if (!failure->interrupted) {
        report.failed.push_back(std::move(failure->failed));
        continue;
      }
      const std::size_t at = failure->failed.index;
      interrupted_.push_back({run, at, at + 1, failure->one_by_one || slices_[number].one_by_one});
      report.end = at;
      if (report.first < report.end) out.push_back(std::move(report));
      report = settler::Report{run, at + 1, end, {}};
    }
    if (report.first < report.end) out.push_back(std::move(report));
  });
  failures_.clear();
  reported_stops_ = stopped_keys_;
  reported_ = begin_;
  return out;
}

std::vector<RunSlice> WorkBatch::take_rest() {
  std::vector<RunSlice> rest = std::exchange(interrupted_, {});
  auto uncalled = parts(end_, {slices_.size(), 0, false});
  std::move(uncalled.begin(), uncalled.end(), std::back_inserter(rest));
  if (end_.slice < slices_.size()) {
    if (end_.entered) {
      slices_[end_.slice].end = end_.index;
      slices_.resize(end_.slice + 1);
    } else {
      slices_.resize(end_.slice);
    }
    end_ = {slices_.size(), 0, false};  // not inside a slice: its next event is not this batch's any more
  }
  return rest;
}

}  // namespace inboxd::dispatcher
