#include "dispatcher/in_hand.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "dispatcher/own_events.hpp"
#include "inbox/handler_transaction.hpp"

namespace inboxd::dispatcher {
namespace {

/// What an event is taken to weigh before any was seen.
constexpr std::int64_t guessed_bytes_per_event = 2048;
/// A larger run counts at once, smaller ones with this weight: rather too little room than too much.
constexpr std::int64_t shrinking_weight = 16;
/// With a backlog, claims wait until this part of what may be in hand is free, so that they bring whole runs.
constexpr std::int64_t worth_a_claim = 4;
/// A claim asks for this part of it at most: the next one runs while the workers are busy with the last.
constexpr std::int64_t claims_in_hand = 2;
/// So much more than wanted may stay queued before it is given back.
constexpr std::int64_t too_much = 2;

}  // namespace

InHand::InHand(std::int32_t handler_id, const config::Handler& settings, std::chrono::milliseconds poll,
               std::shared_ptr<Shared> shared)
    : handler_id_{handler_id},
      poll_{poll},
      shared_{std::move(shared)},
      handler_{settings.name},
      retry_{settings.retry},
      lease_{settings.lease},
      max_crashes_{settings.max_crashes},
      pace_{settings.concurrency, settings.events_per_call},
      bytes_per_event_{guessed_bytes_per_event} {}

std::string InHand::handler() const {
  const std::lock_guard lock{mutex_};
  return handler_;
}

void InHand::close(Closed reason) {
  const std::lock_guard lock{mutex_};
  closed_ |= static_cast<unsigned>(reason);
  queue_.leave(0);
  count();
  shared_->claimer.ring();
}

void InHand::reopen(Closed reason) {
  const std::lock_guard lock{mutex_};
  closed_ &= ~static_cast<unsigned>(reason);
  backlog_ = true;
  shared_->claimer.ring();
}

bool InHand::is_open() const {
  const std::lock_guard lock{mutex_};
  return takes();
}

void InHand::configure(const config::Handler& settings, plugin::Instance::Needs needs) {
  const std::lock_guard lock{mutex_};
  needs_ = needs;
  handler_ = settings.name;
  events_per_call_ = settings.events_per_call;
  transaction_events_ = events_per_call_ * settings.group;
  retry_ = settings.retry;
  lease_ = settings.lease;
  max_crashes_ = settings.max_crashes;
  pace_.reshape(settings.concurrency, settings.events_per_call);
  // What was claimed for a plugin that wants no payloads is claimed again for one that does: to it, an event without
  // its payload would be a tombstone.
  queue_.want_content(!needs.no_payloads);
  if (ring_for_left()) backlog_ = true;
  count();
}

void InHand::recount() {
  const std::lock_guard lock{mutex_};
  count();
}

// ---- room

std::int64_t InHand::held() const { return queue_.events() + reservations_.events() + claiming_; }

std::int64_t InHand::room() const {
  const std::int64_t bytes = queue_.bytes() + reservations_.bytes() + claiming_ * bytes_per_event_;
  return free_room({pace_.target(), pace_.minimum(), held(), shared_->events.left_for(held()),
                    shared_->bytes.left_for(bytes), bytes_per_event_});
}

/// Tells all what is held; to be called after every change of it.
void InHand::count() {
  const std::int64_t bytes = queue_.bytes() + reservations_.bytes() + claiming_ * bytes_per_event_;
  const std::int64_t events_now = shared_->events.common_part(held());
  const std::int64_t bytes_now = shared_->bytes.common_part(bytes);
  shared_->events.use(events_now - std::exchange(common_events_, events_now));
  shared_->bytes.use(bytes_now - std::exchange(common_bytes_, bytes_now));
  const std::int64_t new_suspects = queue_.suspects() - std::exchange(suspects_, queue_.suspects());
  if (new_suspects != 0 && (shared_->suspects += new_suspects) == 0) shared_->claimer.ring();
}

/// Workers that settle in transactions of their own get runs of their own: the most events of one, where so many come.
std::int64_t InHand::run_events_of(std::int64_t events) const {
  if (!needs_.sql) return 0;
  const std::int64_t even = (events + pace_.workers() - 1) / pace_.workers();
  const std::int64_t transaction = std::min(pace_.turn_in_transactions(events), transaction_events_);
  const std::int64_t transactions = (even + transaction - 1) / transaction;
  return std::max<std::int64_t>(transactions, 1) * transaction;
}

bool InHand::room_is_enough() const {
  const std::int64_t free = room();
  if (free < 1) return false;
  return queue_.queued() == 0 || free * worth_a_claim >= held() + free;
}

void InHand::note_size(std::int64_t events, std::int64_t bytes) {
  const std::int64_t each = std::max<std::int64_t>(bytes / std::max<std::int64_t>(events, 1), 1);
  bytes_per_event_ = std::max(each, bytes_per_event_ + (each - bytes_per_event_) / shrinking_weight);
}

// ---- ingest

consumer::HandOff::Room InHand::reserve(std::int64_t events, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  if (!takes() || backlog_ || events <= 0) return {};
  std::int64_t granted = std::min(events, room());
  // The guess of an event's size may be far off; here the true one is known.
  const auto each = static_cast<std::int64_t>(bytes) / events + 1;
  const std::int64_t held_bytes = queue_.bytes() + reservations_.bytes() + claiming_ * bytes_per_event_;
  granted = std::min(granted, std::max<std::int64_t>(shared_->bytes.left_for(held_bytes) / each, held() == 0 ? 1 : 0));
  if (granted < events) no_room_ = true;
  if (granted <= 0) return {};
  reservations_.reserve(std::this_thread::get_id(), granted, granted * each, Clock::now() + lease_);
  count();
  return {granted, lease_, run_events_of(granted)};
}

void InHand::hand_over(inbox::LeasedRun run, std::int64_t reserved) {
  const std::int64_t bytes = bytes_of(run);
  try {
    own_events(run, bytes);
  } catch (...) {
    release(reserved);
    throw;
  }
  const std::lock_guard lock{mutex_};
  const auto lease_end = reservations_.end(std::this_thread::get_id(), reserved);
  add(std::move(run), bytes, lease_end.value_or(Clock::now()));
  if (!takes()) {
    queue_.leave(0);
    shared_->claimer.ring();
  }
  count();
}

void InHand::release(std::int64_t events) {
  const std::lock_guard lock{mutex_};
  reservations_.end(std::this_thread::get_id(), events);
  count();
  ring_if_hungry();
}

void InHand::born_due() {
  const std::lock_guard lock{mutex_};
  ++births_;
  if (backlog_) return;
  // Born due for want of room: more than can be taken in hand. Otherwise it was planned while there was a backlog.
  backlog_ = std::exchange(no_room_, false);
  next_poll_ = Clock::now();
  shared_->claimer.ring();
}

void InHand::add(inbox::LeasedRun run, std::int64_t bytes, Clock::time_point lease_end) {
  note_size(static_cast<std::int64_t>(run.events.size()), bytes);
  queue_.add(std::make_shared<settler::Run>(std::move(run), retry_, shared_from_this(), handler_), bytes, lease_end);
  active_ = true;
  if (idle_workers_ > 0) work_.notify_one();
}

/// True where runs are to be given back.
bool InHand::ring_for_left() {
  if (!queue_.any_left()) return false;
  shared_->claimer.ring();
  return true;
}

// ---- claims

std::optional<InHand::Wish> InHand::begin_claim(Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  if (!takes()) return std::nullopt;
  const auto retry = retries_.next();
  const bool is_time = now >= next_poll_ || (retry && now >= *retry);
  const std::int64_t free = room();
  if (free < 1 || !(is_time || (backlog_ && room_is_enough()))) {
    hungry_ = backlog_ || is_time;
    return std::nullopt;
  }
  hungry_ = false;
  retries_.take_due(now);
  next_poll_ = now + poll_;
  // A mere look leaves half of the room to what is born meanwhile.
  const std::int64_t at_once = std::max((held() + free) / claims_in_hand, pace_.minimum());
  claiming_ = std::min(free, backlog_ ? at_once : std::max<std::int64_t>(free / 2, 1));
  const std::int64_t bytes = queue_.bytes() + reservations_.bytes();
  count();
  return Wish{claiming_,
              static_cast<std::size_t>(std::max<std::int64_t>(shared_->bytes.left_for(bytes), 1)),
              lease_,
              births_,
              run_events_of(claiming_),
              !needs_.no_payloads || events_per_call_ <= inbox::most_events_sent,
              max_crashes_};
}

void InHand::end_claim(const Wish& wish, std::vector<inbox::LeasedRun> runs, Clock::time_point asked, bool more) {
  std::vector<std::int64_t> bytes;
  for (inbox::LeasedRun& run : runs) {
    bytes.push_back(bytes_of(run));
    own_events(run, bytes.back());
  }
  const std::lock_guard lock{mutex_};
  claiming_ = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) add(std::move(runs[i]), bytes[i], asked + wish.lease);
  if (!takes()) queue_.leave(0);
  // What was born due during the claim is little, and the next look takes it while ingest hands over again. Were it
  // asked for that nothing is born meanwhile, a busy topic would never come out of its backlog.
  backlog_ = more;
  if (ring_for_left()) backlog_ = true;  // of no use: the plugin was changed meanwhile
  if (births_ != wish.births) next_poll_ = Clock::now();
  count();
}

void InHand::claim_failed() {
  const std::lock_guard lock{mutex_};
  claiming_ = 0;
  count();
}

void InHand::look_again() {
  const std::lock_guard lock{mutex_};
  next_poll_ = Clock::now();
}

InHand::Clock::time_point InHand::next_claim(Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  if (!takes()) return Clock::time_point::max();
  if (room() < 1) {
    hungry_ = true;
    return now + poll_;
  }
  if (backlog_ && room_is_enough()) return now;
  hungry_ = backlog_;
  const auto retry = retries_.next();
  return retry ? std::min(*retry, next_poll_) : next_poll_;
}

std::shared_ptr<settler::Run> InHand::make_run(inbox::LeasedRun lease) {
  const std::lock_guard lock{mutex_};
  return std::make_shared<settler::Run>(std::move(lease), retry_, shared_from_this(), handler_);
}

std::vector<inbox::LeaseKey> InHand::take_left() {
  const std::lock_guard lock{mutex_};
  return queue_.take_left();
}

std::chrono::milliseconds InHand::lease() const {
  const std::lock_guard lock{mutex_};
  return lease_;
}

std::optional<std::chrono::milliseconds> InHand::lease_at_stake() const {
  const std::lock_guard lock{mutex_};
  return queue_.events() > 0 ? std::optional{lease_} : std::nullopt;
}

InHand::Renewal InHand::to_renew(Clock::time_point now) const {
  const std::lock_guard lock{mutex_};
  return {queue_.ending_before(now + lease_ * 2 / 3), lease_};
}

void InHand::renewed(const std::vector<std::shared_ptr<settler::Run>>& runs, Clock::time_point lease_end) {
  const std::lock_guard lock{mutex_};
  for (const auto& run : runs) queue_.renewed(*run, lease_end);
}

// ---- workers

std::vector<Piece> InHand::take(const std::atomic<bool>& stop, Work done) {
  std::unique_lock lock{mutex_};
  if (done.events > 0) pace_.worked(done.events, done.busy);
  for (;;) {
    ++idle_workers_;
    work_.wait(lock, [&] { return stop || queue_.queued() > 0; });
    --idle_workers_;
    if (stop) return {};
    const std::int64_t expired = queue_.expired();
    const std::int64_t queued = queue_.queued();
    const std::int64_t turn = needs_.sql ? pace_.turn_in_transactions(queued) : pace_.turn_of(queued);
    std::vector<Piece> pieces = queue_.take(turn, Clock::now(), needs_.sql);
    if (queue_.expired() != expired) {
      count();
      ring_for_left();
    }
    if (queue_.queued() > 0 && idle_workers_ > 0) work_.notify_one();
    if (!pieces.empty()) return pieces;
  }
}

void InHand::put_back(std::vector<Piece> pieces) {
  if (pieces.empty()) return;
  const std::lock_guard lock{mutex_};
  queue_.put_back(std::move(pieces));
  if (!takes()) queue_.leave(0);
  ring_for_left();
  count();
  if (queue_.queued() > 0 && idle_workers_ > 0) work_.notify_one();
}

void InHand::wake() {
  const std::lock_guard lock{mutex_};
  work_.notify_all();
}

void InHand::review(Pace::Running running) {
  const std::lock_guard lock{mutex_};
  pace_.note_running(running);
  const std::int64_t target = pace_.target();
  if (queue_.queued() <= too_much * target) return;
  queue_.leave(target);
  if (!ring_for_left()) return;
  backlog_ = true;
  count();
}

// ---- settler

void InHand::settled(const settler::Run& run, std::int64_t events) {
  const std::lock_guard lock{mutex_};
  queue_.settled(run, events);
  count();
  ring_for_left();
  ring_if_hungry();
}

void InHand::lost(const settler::Run& run) {
  const std::lock_guard lock{mutex_};
  queue_.lost(run);
  count();
  ring_if_hungry();
}

void InHand::retry_at(Clock::time_point due) {
  const std::lock_guard lock{mutex_};
  const auto before = retries_.next();
  retries_.add(due);
  if (before != retries_.next()) shared_->claimer.ring();
}

void InHand::ring_if_hungry() {
  if (!hungry_ || !room_is_enough()) return;
  hungry_ = false;
  shared_->claimer.ring();
}

// ---- figures

bool InHand::idle() const {
  const std::lock_guard lock{mutex_};
  // A mere look into the database that is under way does not count: what it finds is outstanding there.
  return queue_.events() + reservations_.events() == 0 && !(takes() && backlog_);
}

Stats InHand::stats() const {
  const std::lock_guard lock{mutex_};
  const auto is = [&](Closed reason) { return (closed_ & static_cast<unsigned>(reason)) != 0; };
  Stats out;
  out.queued = queue_.queued();
  out.in_hand = queue_.events();
  out.in_hand_bytes = queue_.bytes();
  out.reserved = reservations_.events();
  out.target = std::min(pace_.target(), std::max(shared_->events.limit(), pace_.minimum()));
  out.per_second = pace_.per_second();
  out.expired = queue_.expired();
  out.given_back = queue_.given_back();
  out.repeated = call_counts_.repeated;
  out.deadlines = call_counts_.deadlines;
  out.abandoned = call_counts_.abandoned;
  out.backlog = backlog_;
  out.paused = is(Closed::paused);
  out.stopped = is(Closed::stopped);
  out.calls = calls_.snapshot();
  return out;
}

}  // namespace inboxd::dispatcher
