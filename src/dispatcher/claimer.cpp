#include "dispatcher/claimer.hpp"

#include <pthread.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// Leases are looked at so often in their course; renewed once a third of it is used.
constexpr int looks_in_a_lease = 8;
/// A claim that brought this part of the bytes it asked for was cut short by them.
constexpr std::size_t byte_bound_part = 2;

std::vector<inbox::LeaseKey> keys_of(const std::vector<std::shared_ptr<settler::Run>>& runs) {
  std::vector<inbox::LeaseKey> keys;
  keys.reserve(runs.size());
  for (const auto& run : runs) keys.push_back(run->lease.key);
  return keys;
}

struct Size {
  std::int64_t events = 0;
  std::size_t bytes = 0;
  bool found_unclean = false;   ///< claim splits those: the rest is still due
};

Size size_of(const std::vector<inbox::LeasedRun>& runs) {
  Size out;
  for (const auto& run : runs) {
    out.events += static_cast<std::int64_t>(run.events.size());
    for (const event::Event* event : run.events) out.bytes += event::size_of(*event);
    out.found_unclean = out.found_unclean || run.claims > 1;
  }
  return out;
}

}  // namespace

Claimer::Claimer(std::unique_ptr<Deliveries> deliveries, std::shared_ptr<Shared> shared, Hands hands,
                 settler::Settler& settler, base::Logger& log, Limits limits)
    : deliveries_{std::move(deliveries)},
      shared_{std::move(shared)},
      hands_{std::move(hands)},
      settler_{settler},
      log_{log},
      limits_{limits},
      trouble_{"dispatcher", log, limits.trouble} {
  progress();
}

Claimer::~Claimer() {
  request_stop();
  join();
}

void Claimer::start() {
  progress();
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "claimer");
}

void Claimer::request_stop() {
  stopping_ = true;
  shared_->claimer.ring();
}

void Claimer::join() {
  if (thread_.joinable()) thread_.join();
}

Claimer::Clock::time_point Claimer::last_progress() const {
  return Clock::time_point{Clock::duration{progress_.load()}};
}

void Claimer::progress() { progress_ = Clock::now().time_since_epoch().count(); }

void Claimer::run() {
  while (!stopping_) {
    progress();
    const auto now = Clock::now();
    if (now >= blocked_until_) {
      for (const auto& hand : hands_()) {
        if (!serve(*hand, duties_[hand->handler_id()])) break;
      }
    }
    shared_->claimer.wait_until(next_turn(Clock::now()));
  }
  for (const auto& hand : hands_()) {
    if (!give_back(*hand, duties_[hand->handler_id()])) return;
  }
}

Claimer::Clock::time_point Claimer::next_turn(Clock::time_point now) {
  auto turn = now + limits_.turn;
  if (now < blocked_until_) return std::min(turn, blocked_until_);
  for (const auto& hand : hands_()) {
    turn = std::min(turn, hand->next_claim(now));
    turn = std::min(turn, duties_[hand->handler_id()].next_renewal);
  }
  return turn;
}

/// Notes how a question to the database went; false where it failed: nothing more is asked for a while.
bool Claimer::worked(const inbox::DatabaseFailure* failure) {
  progress();
  if (failure != nullptr) {
    blocked_until_ = Clock::now() + trouble_.failed(*failure, Clock::now());
    return false;
  }
  trouble_.worked();
  if (const int generation = deliveries_->generation(); generation_ != generation) {
    generation_ = generation;
    for (auto& [id, duty] : duties_) duty.low_water = {};
  }
  return true;
}

bool Claimer::serve(InHand& hand, Duty& duty) {
  return give_back(hand, duty) && skip(duty) && renew(hand, duty) && read_low_water(hand, duty) && claim(hand, duty);
}

bool Claimer::give_back(InHand& hand, Duty& duty) {
  for (const auto& key : hand.take_left()) duty.to_give_back.push_back(key);
  while (!duty.to_give_back.empty()) {
    const std::size_t count = std::min(duty.to_give_back.size(), limits_.keys_at_once);
    const auto begin = duty.to_give_back.end() - static_cast<std::ptrdiff_t>(count);
    // Once more after a failure is harmless: a key works once.
    if (!worked(deliveries_->give_back({begin, duty.to_give_back.end()}))) return false;
    duty.to_give_back.erase(begin, duty.to_give_back.end());
  }
  return true;
}

bool Claimer::skip(Duty& duty) {
  if (duty.to_skip.empty()) return true;
  if (!worked(deliveries_->settle_skipped(duty.to_skip))) return false;
  log_.warn("dispatcher: deliveries whose events are gone are skipped", {{"deliveries", duty.to_skip.size()}});
  duty.to_skip.clear();
  return true;
}

bool Claimer::renew(InHand& hand, Duty& duty) {
  const auto now = Clock::now();
  if (now < duty.next_renewal) return true;
  const auto due = hand.to_renew(now);
  for (std::size_t at = 0; at < due.runs.size(); at += limits_.keys_at_once) {
    const std::size_t end = std::min(due.runs.size(), at + limits_.keys_at_once);
    const auto begin = due.runs.begin();
    if (!renew(hand, {begin + static_cast<std::ptrdiff_t>(at), begin + static_cast<std::ptrdiff_t>(end)}, due.lease)) {
      return false;
    }
  }
  duty.next_renewal = now + due.lease / looks_in_a_lease;
  return true;
}

/// Renews runs; where not all were (settled meanwhile, locked or lost), finds out which by halves.
bool Claimer::renew(InHand& hand, const std::vector<std::shared_ptr<settler::Run>>& runs,
                    std::chrono::milliseconds lease) {
  const auto asked = Clock::now();
  const auto answer = deliveries_->renew(keys_of(runs), lease);
  if (!worked(answer)) return false;
  const auto renewed = static_cast<std::size_t>(std::get<0>(answer));
  if (renewed == runs.size()) hand.renewed(runs, asked + lease);
  if (renewed == runs.size() || renewed == 0) return true;
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  return renew(hand, {runs.begin(), middle}, lease) && renew(hand, {middle, runs.end()}, lease);
}

bool Claimer::read_low_water(InHand& hand, Duty& duty) {
  const auto asked = Clock::now();
  if (asked < duty.next_reading || !hand.is_open()) return true;
  const auto answer = deliveries_->read_due(hand.handler_id(), duty.low_water.reading_from(asked));
  if (!worked(answer)) return false;
  duty.low_water.observe(std::get<0>(answer), asked, Clock::now());
  const bool begins = !duty.low_water.not_before();
  duty.next_reading = asked + (hand.was_active() || begins ? limits_.reading : limits_.idle_reading);
  return true;
}

bool Claimer::claim(InHand& hand, Duty& duty) {
  const auto asked = Clock::now();
  const auto wish = hand.begin_claim(asked);
  if (!wish) return true;
  inbox::ClaimRequest request;
  request.handler_id = hand.handler_id();
  request.lease = wish->lease;
  request.events = wish->events;
  request.bytes = wish->bytes;
  duty.rows = std::max(duty.rows, limits_.rows_first);
  request.rows = static_cast<int>(std::min<std::int64_t>(duty.rows, wish->events));
  request.slice = static_cast<int>(std::min<std::int64_t>(wish->run_events, std::numeric_limits<int>::max()));
  request.payloads = wish->payloads;
  request.not_before = duty.low_water.not_before();
  auto answer = deliveries_->claim(request);
  if (!worked(answer)) {
    hand.claim_failed();
    return false;
  }
  auto& claimed = std::get<0>(answer);
  duty.to_skip.insert(duty.to_skip.end(), claimed.empty.begin(), claimed.empty.end());
  const Size size = size_of(claimed.runs);
  const bool events_reached = size.events >= wish->events;
  const bool more = events_reached || claimed.rows_locked >= request.rows || size.found_unclean ||
                    size.bytes * byte_bound_part >= wish->bytes;
  adapt_rows(duty, request.rows, claimed.rows_locked, events_reached);
  hand.end_claim(*wish, without_crashed(hand, std::move(claimed.runs)), asked, more);
  return skip(duty);
}

void Claimer::adapt_rows(Duty& duty, int asked, int locked, bool events_reached) {
  if (locked >= asked && !events_reached && asked == duty.rows) {
    duty.rows = std::min(duty.rows * 2, limits_.rows_most);
  } else if (locked < duty.rows / 4) {
    duty.rows = std::max(duty.rows / 2, limits_.rows_first);
  }
}

/// Takes out single events that were in hand whenever somebody died: they are dead, before they end this process too.
std::vector<inbox::LeasedRun> Claimer::without_crashed(InHand& hand, std::vector<inbox::LeasedRun> runs) {
  std::vector<inbox::LeasedRun> kept;
  kept.reserve(runs.size());
  for (inbox::LeasedRun& lease : runs) {
    if (lease.events.size() != 1 || lease.claims <= limits_.max_crashes) {
      kept.push_back(std::move(lease));
      continue;
    }
    log_.error("dispatcher: an event was in hand at too many unclean ends, it is dead",
               {{"handler_id", lease.handler_id},
                {"event_id", lease.events.front()->event_id.text()},
                {"claims", lease.claims}});
    const settler::Verdict verdict{settler::Verdict::Kind::dead, std::nullopt, "crashed",
                                   "it was in hand at " + std::to_string(lease.claims - 1) +
                                       " unclean ends, and ran alone the last times"};
    std::vector<settler::Report> reports;
    reports.push_back({hand.make_run(std::move(lease)), 0, 1, {{0, verdict, std::chrono::milliseconds{0}}}});
    settler_.report(std::move(reports));
  }
  return kept;
}

}  // namespace inboxd::dispatcher
