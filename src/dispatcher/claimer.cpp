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
  bool found_unclean = false;  ///< claim splits those: the rest is still due
  bool suspects = false;
};

Size size_of(const std::vector<inbox::LeasedRun>& runs) {
  Size out;
  for (const auto& run : runs) {
    out.events += static_cast<std::int64_t>(run.events.size());
    for (const event::Event* event : run.events) out.bytes += event::size_of(*event);
    out.found_unclean = out.found_unclean || run.claims > 1;
    out.suspects = out.suspects || inbox::is_suspect(run);
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
      trouble_{"dispatcher", log, limits.trouble},
      aside_{limits.aside} {
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
      serve(hands_());
    }
    shared_->claimer.wait_until(next_turn(Clock::now()));
  }
  for (const auto& hand : hands_()) {
    // Another handler's may be given back where this one's are refused.
    Duty& duty = duty_of(*hand);
    if (!(give_back(*hand, duty) && give_back_claims(*hand, duty)) && is_blocked()) return;
  }
}

void Claimer::serve(Handlers hands) {
  keep_all(hands);
  takes_suspects_ = shared_->suspects == 0;
  if (aside_.is_on()) serve_aside(hands);
  if (aside_.is_on()) return;
  if (takes_suspects_) begin_with_next_suspects(hands);
  for (const auto& hand : hands) {
    // Claims of many handlers may take their time: leases are renewed when it is their time, also between two.
    if (!is_blocked() && Clock::now() >= next_renewals_) keep_all(hands);
    if (is_blocked() || stopping_ || aside_.is_on()) return;
    Duty& duty = duty_of(*hand);
    limit_statements(hands);
    attempt(duty.taking, [&] { return take(*hand, duty); });
  }
}

void Claimer::serve_aside(const Handlers& hands) {
  if (is_blocked()) return;
  if (const auto hand = aside_.turn(hands, Clock::now())) {
    Duty& duty = duty_of(*hand);
    limit_statements(hands);
    attempt(duty.taking, [&] { return claim(*hand, duty); });
  }
  aside_.review(hands, shared_->suspects > 0, Clock::now());
}

/// A suspect has left: there may be others, whose handlers take turns.
void Claimer::begin_with_next_suspects(Handlers& hands) {
  for (const auto& hand : hands) {
    if (std::exchange(duty_of(*hand).passed_suspects, false)) hand->look_again();
  }
  const auto next = std::find_if(hands.begin(), hands.end(),
                                 [this](const auto& hand) { return hand->handler_id() > last_suspect_of_; });
  std::rotate(hands.begin(), next, hands.end());
}

void Claimer::keep_all(const Handlers& hands) {
  next_renewals_ = Clock::now() + limits_.turn;
  limit_statements(hands);
  for (const auto& hand : hands) {
    if (is_blocked()) return;
    Duty& duty = duty_of(*hand);
    attempt(duty.keeping, [&] { return keep(*hand, duty); });
    next_renewals_ = std::min(next_renewals_, next_renewal(*hand, duty));
  }
}

/// Does what is to be done for one handler, unless it failed a moment ago. The others go on where it was this handler's
/// own: a table that its claims alone run into, rows that somebody has locked.
template <class Work>
void Claimer::attempt(Effort& effort, Work&& work) {
  const auto now = Clock::now();
  if (now < effort.again) return;
  refused_.reset();
  if (work()) {
    effort.trouble.worked();
  } else if (refused_) {
    effort.again = Clock::now() + effort.trouble.failed(*refused_, Clock::now());
  }
}

Claimer::Duty& Claimer::duty_of(const InHand& hand) {
  const auto found = duties_.find(hand.handler_id());
  if (found != duties_.end()) return found->second;
  const std::string whose = "handler " + hand.handler();
  const settler::Trouble keeping{"dispatcher", log_, limits_.trouble, whose + ", what is in hand"};
  const settler::Trouble taking{"dispatcher", log_, limits_.trouble, whose + ", claims"};
  return duties_.emplace(hand.handler_id(), Duty{{keeping, {}}, {taking, {}}, 0, false, {}, {}, {}, {}, {}, {}, {}})
      .first->second;
}

/// By the lease as it is now: a reload may have made it shorter.
Claimer::Clock::time_point Claimer::next_renewal(const InHand& hand, const Duty& duty) {
  return duty.last_renewal + hand.lease() / looks_in_a_lease;
}

/// Where nothing is in hand, nothing can be lost by waiting.
void Claimer::limit_statements(const Handlers& hands) {
  std::optional<std::chrono::milliseconds> limit;
  for (const auto& hand : hands) {
    const auto lease = hand->lease_at_stake();
    if (lease && (!limit || *lease / 2 < *limit)) limit = *lease / 2;
  }
  deliveries_->limit_statements(limit ? std::optional{std::max(*limit, limits_.shortest_deadline)} : std::nullopt);
}

Claimer::Clock::time_point Claimer::next_turn(Clock::time_point now) {
  auto turn = std::min(now + limits_.turn, aside_.next_look(now));
  if (now < blocked_until_) return std::min(turn, blocked_until_);
  for (const auto& hand : hands_()) {
    const Duty& duty = duty_of(*hand);
    if (!aside_.is_on()) turn = std::min(turn, std::max(hand->next_claim(now), duty.taking.again));
    turn = std::min(turn, std::max(next_renewal(*hand, duty), duty.keeping.again));
  }
  return turn;
}

/// Notes how a question to the database went; false where it failed: for all, where the connection is the matter.
bool Claimer::worked(const inbox::DatabaseFailure* failure) {
  progress();
  if (failure != nullptr) {
    const bool of_all = failure->fault == inbox::Fault::reconnect || failure->fault == inbox::Fault::in_doubt;
    if (of_all) blocked_until_ = Clock::now() + trouble_.failed(*failure, Clock::now());
    if (!of_all) refused_ = *failure;
    return false;
  }
  trouble_.worked();
  if (const int generation = deliveries_->generation(); generation_ != generation) {
    generation_ = generation;
    for (auto& [id, duty] : duties_) duty.low_water = {};
  }
  return true;
}

bool Claimer::keep(InHand& hand, Duty& duty) {
  // Renewed first: what is given back late is late, what is renewed late is lost.
  const bool renewed = renew(hand, duty);
  return !is_blocked() && give_back(hand, duty) && give_back_claims(hand, duty) && skip(duty) && renewed;
}

bool Claimer::take(InHand& hand, Duty& duty) { return read_low_water(hand, duty) && claim(hand, duty); }

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

/// A claim whose answer was lost may have taken something all the same. It never came into hand: it must neither wait
/// for the end of its lease nor be found there as after a crash.
bool Claimer::give_back_claims(InHand& hand, Duty& duty) {
  if (duty.lost_claims.empty()) return true;
  const auto since =
      std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - duty.first_lost + limits_.clocks_apart);
  if (!worked(deliveries_->give_back_claims(hand.handler_id(), duty.lost_claims, since))) return false;
  duty.lost_claims.clear();
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
  if (now < next_renewal(hand, duty)) return true;
  const auto due = hand.to_renew(now);
  for (std::size_t at = 0; at < due.runs.size(); at += limits_.keys_at_once) {
    const std::size_t end = std::min(due.runs.size(), at + limits_.keys_at_once);
    const auto begin = due.runs.begin();
    if (!renew(hand, {begin + static_cast<std::ptrdiff_t>(at), begin + static_cast<std::ptrdiff_t>(end)}, due.lease)) {
      return false;
    }
  }
  duty.last_renewal = now;
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
  const auto answer =
      deliveries_->read_due(hand.handler_id(), duty.low_water.reading_from(asked), duty.low_water.asks_writers(asked));
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
  const inbox::ClaimRequest request = request_for(hand.handler_id(), *wish, duty, asked);
  auto answer = deliveries_->claim(request);
  if (!worked(answer)) {
    note_lost_claim(duty, request.fence, asked);
    hand.claim_failed();
    return false;
  }
  auto& claimed = std::get<0>(answer);
  duty.to_skip.insert(duty.to_skip.end(), claimed.empty.begin(), claimed.empty.end());
  duty.to_give_back.insert(duty.to_give_back.end(), claimed.over.begin(), claimed.over.end());
  const Size size = size_of(claimed.runs);
  const bool events_reached = size.events >= wish->events;
  const bool more = events_reached || claimed.rows_locked >= request.rows || size.found_unclean ||
                    size.bytes * byte_bound_part >= wish->bytes;
  if (size.suspects) last_suspect_of_ = hand.handler_id();
  adapt_rows(duty, request.rows, claimed.rows_locked, events_reached);
  auto runs = without_crashed(hand, wish->max_crashes, std::move(claimed.runs));
  if (!aside_.is_on()) put_aside(hand, duty, wish->max_crashes, runs);
  hand.end_claim(*wish, std::move(runs), asked, more);
  return skip(duty);
}

inbox::ClaimRequest Claimer::request_for(std::int32_t handler_id, const InHand::Wish& wish, Duty& duty,
                                         Clock::time_point now) {
  inbox::ClaimRequest out;
  out.handler_id = handler_id;
  out.lease = wish.lease;
  out.events = wish.events;
  out.bytes = wish.bytes;
  duty.rows = std::max(duty.rows, limits_.rows_first);
  out.rows = static_cast<int>(std::min<std::int64_t>(duty.rows, wish.events));
  out.slice = static_cast<int>(std::min<std::int64_t>(wish.run_events, std::numeric_limits<int>::max()));
  out.payloads = wish.payloads;
  out.not_before = duty.low_water.not_before();
  // What a suspect does to the process must not be charged to another one that was in hand beside it. Only claims
  // bring suspects, and only this thread claims.
  duty.passed_suspects = !takes_suspects_ || shared_->suspects > 0;
  if (duty.passed_suspects) out.claims_to = inbox::suspected_after - 1;
  if (aside_.is_on()) {
    out.claims_from = last_chances_after(wish.max_crashes);
  } else if (aside_.is_resting(now)) {
    out.claims_to = std::min(out.claims_to, last_chances_after(wish.max_crashes) - 1);
  }
  out.fence = base::random_fence();
  return out;
}

/// It may have taken rows although nobody heard of it: they are given back by its fence.
void Claimer::note_lost_claim(Duty& duty, std::int64_t fence, Clock::time_point asked) {
  if (!is_blocked() || duty.lost_claims.size() >= limits_.lost_claims) return;
  if (duty.lost_claims.empty()) duty.first_lost = asked;
  duty.lost_claims.push_back(fence);
}

void Claimer::adapt_rows(Duty& duty, int asked, int locked, bool events_reached) {
  if (locked >= asked && !events_reached && asked == duty.rows) {
    duty.rows = std::min(duty.rows * 2, limits_.rows_most);
  } else if (locked < duty.rows / 4) {
    duty.rows = std::max(duty.rows / 2, limits_.rows_first);
  }
}

std::int32_t Claimer::last_chances_after(std::int32_t max_crashes) const {
  return std::max(max_crashes - limits_.last_chances, inbox::suspected_after);
}

/// A suspect with few chances left goes back uncharged, to be taken when nothing else is in hand.
void Claimer::put_aside(InHand& hand, Duty& duty, std::int32_t max_crashes, std::vector<inbox::LeasedRun>& runs) {
  const auto has_few = [&](const inbox::LeasedRun& run) { return run.claims > last_chances_after(max_crashes); };
  for (const auto& run : runs) {
    if (!has_few(run)) continue;
    duty.to_give_back.push_back(run.key);
    log_.warn("dispatcher: what was in hand at many unclean ends runs alone next, and all handlers wait for it",
              {{"handler", hand.handler()}, {"events", run.events.size()}, {"unclean_ends", run.claims - 1}});
  }
  if (std::erase_if(runs, has_few) > 0) aside_.begin(hand.handler_id(), hands_(), Clock::now());
}

/// Takes out single events that were in hand whenever somebody died: they are dead, before they end this process too.
std::vector<inbox::LeasedRun> Claimer::without_crashed(InHand& hand, std::int32_t max_crashes,
                                                       std::vector<inbox::LeasedRun> runs) {
  std::vector<inbox::LeasedRun> kept;
  kept.reserve(runs.size());
  for (inbox::LeasedRun& lease : runs) {
    if (lease.events.size() != 1 || lease.claims <= max_crashes) {
      kept.push_back(std::move(lease));
      continue;
    }
    const std::int32_t claims = lease.claims;
    const auto run = hand.make_run(std::move(lease));
    const event::Event& event = *run->lease.events.front();
    log_.error(
        "dispatcher: an event was in hand at handlers[].max_crashes unclean ends, it is dead; `inboxd dead show` "
        "with its event_id has it, `inboxd dead replay` gives it back",
        {{"event_id", event.event_id.text()},
         {"handler", run->handler},
         {"topic", run->lease.place->topic},
         {"partition", run->lease.place->partition},
         {"offset", event.offset},
         {"unclean_ends", claims - 1},
         {"max_crashes", max_crashes}});
    const settler::Verdict verdict{settler::Verdict::Kind::dead, std::nullopt, "crashed",
                                   "it was in hand at " + std::to_string(claims - 1) +
                                       " unclean ends, and ran alone the last times (handlers[].max_crashes: " +
                                       std::to_string(max_crashes) + ")"};
    std::vector<settler::Report> reports;
    reports.push_back({run, 0, 1, {{0, verdict, std::chrono::milliseconds{0}}}});
    settler_.report(std::move(reports));
  }
  return kept;
}

}  // namespace inboxd::dispatcher
