// Findings about handlers at work, from the figures that live instances send.
#include <algorithm>
#include <cmath>

#include "history/stretch.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations::findings {
namespace {

using std::chrono::seconds;

/// A bad event of a quiet handler is tried about this many times within some minutes.
constexpr std::int64_t many_failures = 10;
/// This many failures count if as many events wait for their retry.
constexpr std::int64_t few_failures = 3;
/// A service that restarts is back by then.
constexpr seconds short_absence{10};
constexpr seconds min_span{10};
constexpr std::int64_t small_backlog = 50;
/// Optional members are missing in some events, seldom in this many in a row.
constexpr std::int64_t many_without_value = 100;

struct AtWork {
  const HandlerState& handler;
  const ActivityState& activity;
};

std::vector<AtWork> handlers_at_work(const Situation& situation) {
  std::vector<AtWork> out;
  for (const auto& handler : situation.handlers) {
    const auto* const found = activity_of(situation.activities, handler.handler_id);
    if (found != nullptr && !handler.paused_reason) out.push_back({handler, *found});
  }
  return out;
}

/// `8 keys wait`, `12 events wait`; empty if none does.
std::string waiting_text(const AtWork& at) {
  const std::int64_t keys = at.activity.sum.blocked_keys;
  if (keys > 0) return "; " + std::to_string(keys) + (keys == 1 ? " key waits" : " keys wait");
  const Count pending = at.handler.pending();
  if (pending.number == 0) return "";
  return "; " + count_text(pending, "event") + (pending.number == 1 ? " waits" : " wait");
}

bool all_fail(const AtWork& at) {
  const auto& sum = at.activity.sum;
  if (sum.failed == 0 && at.handler.pending().number == 0) return false;
  return sum.failed_in_row >= many_failures ||
         (sum.failed_in_row >= few_failures && at.handler.retrying.number >= few_failures);
}

bool most_fail(const inbox::HandlerActivity& sum) {
  return sum.failed >= many_failures && sum.failed * 2 >= sum.done + sum.failed;
}

/// `sql.22P02: invalid input syntax`, or, without the right to read messages, the command that shows them.
std::string error_text(const ActivityState& activity) {
  const std::string& name = activity.sum.last_error_class;
  if (!activity.last_message.empty()) return name + ": " + activity.last_message;
  const std::string& event = activity.sum.last_failed_event;
  return event.empty() ? name : name + " (inboxd events show " + event + ")";
}

/// `20`, `0.4`.
std::string rate_text(double per_second) {
  const double shown = per_second < 10 ? std::round(per_second * 10) / 10 : std::round(per_second);
  std::string out = std::to_string(shown);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

/// What the last hour says about a handler; nullptr: nothing.
const history::Track* recent_of(const Situation& situation, const HandlerState& handler) {
  const auto found = situation.recent.handlers.find(handler.name);
  return found == situation.recent.handlers.end() ? nullptr : &found->second;
}

std::optional<event::Microseconds> growing_since(const Situation& situation, const HandlerState& handler) {
  const history::Track* const recent = recent_of(situation, handler);
  if (recent == nullptr) return std::nullopt;
  const auto since = history::growing_since(situation.recent, recent->fields[history::waiting]);
  return since ? std::optional{*since * 1'000'000} : std::nullopt;
}

/// How many calls failed, and within which time.
struct Failures {
  std::string calls, period;
  std::optional<event::Microseconds> since;
};

/// The last hour tells of a longer time than the last report, with rounded numbers.
Failures failures_of(const Situation& situation, const AtWork& at) {
  const auto& sum = at.activity.sum;
  if (all_fail(at)) {
    const auto since = at.activity.failing_since;
    if (since) return {"all " + std::to_string(sum.failed_in_row), " failed since " + clock_text(*since), since};
  }
  const history::Track* const recent = recent_of(situation, at.handler);
  const auto stretch = recent == nullptr ? std::nullopt : history::failing_stretch(situation.recent, *recent);
  if (stretch && seconds{stretch->seconds} > sum.span) {
    const event::Microseconds since = stretch->since * 1'000'000;
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(std::chrono::microseconds{situation.now - since});
    return {"about " + std::to_string(std::llround(stretch->failed)) + " of " +
                std::to_string(std::llround(stretch->failed + stretch->done)),
            " failed in the last " + std::to_string(minutes.count()) + " min", since};
  }
  return {all_fail(at) ? "all " + std::to_string(sum.failed_in_row)
                       : std::to_string(sum.failed) + " of " + std::to_string(sum.failed + sum.done),
          " failed in the last " + std::to_string(std::chrono::ceil<seconds>(sum.span).count()) + " s", std::nullopt};
}

}  // namespace

bool is_failing(const Situation& situation, const HandlerState& handler) {
  const auto* const found = activity_of(situation.activities, handler.handler_id);
  return found != nullptr && (all_fail({handler, *found}) || most_fail(found->sum));
}

void failing_calls(const Situation& situation, List& out) {
  for (const AtWork& at : handlers_at_work(situation)) {
    if (!all_fail(at) && !most_fail(at.activity.sum)) continue;
    const auto [calls, period, since] = failures_of(situation, at);
    out.push_back(make_finding("handler_fails", {{"calls", calls},
                                                 {"handler", at.handler.name},
                                                 {"period", period},
                                                 {"error", error_text(at.activity)},
                                                 {"waiting", waiting_text(at)}})
                      .began(since));
  }
}

void services_away(const Situation& situation, List& out) {
  for (const AtWork& at : handlers_at_work(situation)) {
    if (!at.activity.away_since) continue;
    const std::chrono::microseconds away{situation.now - *at.activity.away_since};
    out.push_back(make_finding(away < short_absence ? "service_just_away" : "service_away",
                               {{"handler", at.handler.name},
                                {"error", at.activity.sum.away_error},
                                {"since", clock_text(*at.activity.away_since)},
                                {"events", count_text(at.handler.pending(), "event")}})
                      .began(at.activity.away_since));
  }
}

void slow_handlers(const Situation& situation, List& out) {
  for (const AtWork& at : handlers_at_work(situation)) {
    const auto& sum = at.activity.sum;
    const bool are_busy = sum.running_calls * 4 >= sum.concurrency * 3;
    if (sum.grown <= 0 || sum.span < min_span || at.handler.pending().number < small_backlog) continue;
    if ((!are_busy && !sum.limited) || at.activity.away_since || is_failing(situation, at.handler)) continue;
    const double done = static_cast<double>(sum.done) / std::chrono::duration<double>(sum.span).count();
    const double arrive = done + static_cast<double>(sum.grown) / 60;
    if (arrive < 1.1 * done) continue;
    const std::string calls = std::to_string(sum.running_calls) + " of " + std::to_string(sum.concurrency);
    out.push_back(make_finding(
        "handler_too_slow",
        {{"handler", at.handler.name},
         {"arrive", rate_text(arrive)},
         {"done", rate_text(done)},
         {"calls", calls + (sum.call_seconds > 0 ? ", " + rate_text(sum.call_seconds) + " s each" : "")},
         {"events", count_text(at.handler.pending(), "event")},
         {"remedy", sum.limited ? "raise rate or max_in_flight of " + at.handler.name + ", which limits it"
                                : "raise concurrency of " + at.handler.name + ", or start another instance"}})
                      .began(growing_since(situation, at.handler)));
  }
}

void unkeyed_events(const Situation& situation, List& out) {
  for (const AtWork& at : handlers_at_work(situation)) {
    if (at.activity.sum.unkeyed < 2) continue;  // a single event has no order
    const std::int64_t events = at.activity.sum.unkeyed;
    out.push_back(make_finding(
        "events_without_key",
        {{"events", std::to_string(events)}, {"handler", at.handler.name}}));
  }
}

void null_paths(const Situation& situation, List& out) {
  for (const AtWork& at : handlers_at_work(situation)) {
    const auto& sum = at.activity.sum;
    if (sum.without_value < many_without_value) continue;
    out.push_back(make_finding("body_paths_null", {{"handler", at.handler.name},
                                                   {"events", std::to_string(sum.without_value)},
                                                   {"paths", sum.body_paths}}));
  }
}

void blocked_keys(const Situation& situation, List& out) {
  for (const BlockedKeys& blocked : situation.blocked) {
    const HandlerState* const handler = situation.handler(blocked.handler_id);
    if (handler == nullptr || is_failing(situation, *handler)) continue;
    const std::string key = blocked.key ? "key " + *blocked.key : "a key";
    const std::string events =
        std::to_string(blocked.waiting) + (blocked.waiting == 1 ? " event waits" : " events wait");
    std::string what = key + ": " + events + " for a failed event";
    if (blocked.waiting == 0) what = "a failed event of " + key;
    if (blocked.keys > 1) {
      what = std::to_string(blocked.keys) + " keys" +
             (blocked.waiting == 0 ? " with a failed event, such as " + key : "; behind " + what);
    }
    out.push_back(make_finding("keys_blocked", {{"handler", handler->name},
                                                {"what", what},
                                                {"error", in_brackets(blocked.last_error)}})
                      .began(blocked.received_at));
  }
}

}  // namespace inboxd::operations::findings
