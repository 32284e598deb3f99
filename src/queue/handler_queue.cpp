#include "queue/handler_queue.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// A claim that returned this part of its bytes was cut short by them.
constexpr std::int64_t byte_bound_part = 2;

}  // namespace

bool HandlerQueue::idle() const {
  // A poll in progress does not count: its events are still pending in the database.
  return state_.queue.events() + state_.room.reservations().events() == 0 &&
         !(state_.takes() && state_.due.has_backlog());
}

// ---- changes

Wakes HandlerQueue::end_change(Clock::time_point now) {
  leave_memory(now);
  Wakes& wakes = state_.wakes;
  const std::size_t released = state_.queue.released_runs();
  if (released > std::exchange(released_runs_, released)) wakes.claimer = true;
  if (state_.wants_room && feed_.free(state_).is_worth_a_claim) {
    state_.wants_room = false;
    wakes.claimer = true;
  }
  return std::exchange(wakes, {});
}

void HandlerQueue::leave_memory(Clock::time_point now) {
  if (!state_.takes()) {
    state_.sequences.drain_all();
    state_.queue.release(0);
  }
  bool any_drain = false;
  do {
    any_drain = false;
    for (const auto& left : state_.queue.take_left()) {
      if (state_.sequences.run_left(left.sequence, left.delivery_id)) read_now(now);
      if (state_.sequences.is_drained(left.sequence)) state_.wakes.claimer = true;  // to release it
    }
    for (const std::int32_t sequence : state_.sequences.take_begun_drains()) {
      any_drain = true;
      feed_.with([&](auto& feed) { feed.forget(sequence); });
      state_.queue.release_sequence(sequence);
      state_.wakes.claimer = true;
    }
  } while (any_drain);
  state_.room.count(state_.queue);
}

/// The sequences are to be read at once.
void HandlerQueue::read_now(Clock::time_point now) {
  feed_.with([&](auto& feed) { feed.read_at(now); });
  state_.wakes.claimer = true;
}

void HandlerQueue::configure(const config::Handler& settings, plugin::Instance::Needs needs, Clock::time_point now) {
  Settings changed{settings, needs};
  if (!changed.has_same_order(state_.settings)) {
    state_.sequences.drain_all();
    leave_memory(now);
    feed_.renew(changed, state_.poll);
  }
  state_.settings = std::move(changed);
  state_.sequences.use(state_.settings.scope);
  leave_memory(now);
  state_.admission.configure(settings);
  state_.room.pace().configure(settings.concurrency, settings.events_per_call);
  // Runs claimed without payloads are claimed again if the new plugin wants them: it would take such an event for a
  // tombstone.
  state_.queue.want_content(!needs.no_payloads);
  if (state_.queue.released_runs() > 0) state_.due.set_backlog(true);
  apply(Admission::Effect::work);
  state_.wakes.claimer = true;
}

void HandlerQueue::apply(Admission::Effect effect) {
  using Effect = Admission::Effect;
  if (effect == Effect::none) return;
  state_.wakes.all_workers = true;
  if (effect == Effect::work) return;
  state_.wakes.claimer = true;
  if (effect == Effect::closed) return;
  state_.due.set_backlog(true);
  claims_.take_soon();  // its sequences were released
}

// ---- ingest

consumer::HandOff::Reservation HandlerQueue::reserve(std::int64_t events, std::size_t bytes, Clock::time_point now) {
  if (!state_.takes() || !state_.due.may_hand_over()) return {};
  return grant(events, bytes, now);
}

consumer::HandOff::Reservation HandlerQueue::reserve_in_order(const consumer::HandOff::InOrder& part,
                                                              std::int64_t events, std::size_t bytes,
                                                              Clock::time_point now) {
  const auto sequence = feed_.with([&](const auto& feed) { return feed.sequence_of(state_.settings, part.shard_id); });
  if (!sequence || !state_.takes()) return {};
  const auto mine = state_.sequences.reserve(*sequence, {part.epoch, part.expected});
  if (!mine) return {};
  auto out = mine->may_be_leased ? grant(events, bytes, now) : consumer::HandOff::Reservation{};
  out.is_open = true;
  out.sequence = *sequence;
  out.sequence_fence = mine->fence;
  return out;
}

bool HandlerQueue::lacks_room(const consumer::HandOff::InOrder* part, std::int64_t events, std::size_t bytes) const {
  const Order* const order = state_.settings.order.get();
  // An open window keeps its events in memory, however long ingest waits.
  if (!state_.takes() || (order != nullptr && order->batch) || (order != nullptr) != (part != nullptr)) return false;
  // A handler that is known to be slow gets so few events that there is no room for these in empty memory either.
  const double pace = state_.room.pace().per_second();  // 0: unknown
  if ((pace > 0 && pace < static_cast<double>(events)) || state_.room.limit() < events) return false;
  const bool has_all = part == nullptr ? !state_.due.has_backlog()
                                       : state_.sequences.has_all_before(order->sequence_of(part->shard_id),
                                                                         {part->epoch, part->expected});
  return has_all && room_for(events, bytes) < events;
}

std::int64_t HandlerQueue::room_for(std::int64_t events, std::size_t bytes) const {
  // The estimate of the room may be far off; here the size is known.
  const auto each = static_cast<std::int64_t>(bytes) / std::max<std::int64_t>(events, 1) + 1;
  return std::min({events, feed_.free(state_).events, state_.room.events_of_size(state_.queue, each)});
}

consumer::HandOff::Reservation HandlerQueue::grant(std::int64_t events, std::size_t bytes, Clock::time_point now) {
  if (events <= 0) return {};
  const std::int64_t granted = room_for(events, bytes);
  if (granted < events) state_.due.note_no_room();
  if (granted <= 0) return {};
  const auto lease = state_.settings.lease;
  const auto each = static_cast<std::int64_t>(bytes) / events + 1;
  state_.room.reservations().reserve(std::this_thread::get_id(), granted, granted * each, now + lease);
  const std::int64_t run_events = feed_.with([&](const auto& feed) { return feed.run_events(state_, granted); });
  return {granted, lease, run_events, false, 0, 0};
}

void HandlerQueue::hand_over(Loaded run, std::int64_t events, Clock::time_point now) {
  const auto lease_end = state_.room.reservations().end(std::this_thread::get_id(), events);
  add(std::move(run.run), run.bytes, lease_end.value_or(now));
}

void HandlerQueue::add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end) {
  Sequences& sequences = state_.sequences;
  const auto sequence = run->lease.sequence;
  state_.room.note_size(static_cast<std::int64_t>(run->size()), bytes);
  feed_.with([&](auto& feed) { feed.added(state_, *run); });
  if (sequence) sequences.claimed(run->lease);
  state_.queue.add(std::move(run), bytes, sequence ? sequences.lease_end(*sequence) : lease_end);
  if (sequence && !sequences.may_run(*sequence)) state_.queue.release_sequence(*sequence);
  state_.readings.note_activity();
  ++state_.wakes.workers;
}

void HandlerQueue::release(std::int64_t events) {
  state_.room.reservations().end(std::this_thread::get_id(), events);
}

void HandlerQueue::end_in_order(const consumer::HandOff::InOrder& part, std::int32_t sequence, bool is_in_memory,
                                Clock::time_point now) {
  state_.sequences.end_reservation(sequence, {part.epoch, part.expected}, {part.epoch, part.next}, is_in_memory);
  if (!is_in_memory) read_now(now);
}

void HandlerQueue::notify_due(Clock::time_point now) {
  state_.due.note_stored();
  if (!feed_.with([&](auto& feed) { return feed.stored(state_, now); })) return;
  if (state_.due.note_due(now)) state_.wakes.claimer = true;
}

void HandlerQueue::notify_fed(Clock::time_point now) {
  if (!feed_.with([&](auto& feed) { return feed.stored(state_, now); })) return;
  state_.due.note_stored();
  state_.due.poll_at(now);
  state_.sequences.sweep();
  state_.wakes.claimer = true;
}

void HandlerQueue::assigned(std::int32_t shard_id) {
  state_.sequences.assigned(shard_id);
  state_.wakes.claimer = true;
}

// ---- questions

std::optional<Request> HandlerQueue::next(Class of, Clock::time_point now, int idle) {
  Admission& admission = state_.admission;
  const std::int32_t id = state_.handler_id;
  switch (of) {
    case Class::lease: {
      auto out = state_.keeper.next(state_.leases(), now);
      const auto* const released = out ? std::get_if<ReleaseSequences>(&*out) : nullptr;
      if (released == nullptr) return out;
      for (const inbox::SequenceKey& key : released->keys) {
        feed_.with([&](auto& feed) { feed.forget(key.sequence); });
      }
      return out;
    }
    case Class::hold:
      return hold_steps_.next([&] { return admission.write_hold(id); });
    case Class::limit: {
      const int may_call = static_cast<int>(std::min<std::int64_t>(state_.queue.queued(), idle));
      return limit_steps_.next([&] { return admission.take_tokens(id, now); },
                               [&] { return admission.share_calls(id, may_call, now); });
    }
    case Class::claim:
      return claims_.next(state_, feed_, now);
  }
  return std::nullopt;
}

std::optional<HandlerQueue::Look> HandlerQueue::begin_look(Clock::time_point now) {
  if (!state_.takes() || state_.due.has_backlog() || feed_.free(state_).events < 1 ||
      !feed_.with([&](const auto& feed) { return feed.only_looks(state_, now); })) {
    return std::nullopt;
  }
  state_.due.look(now);
  feed_.with([&](auto& feed) { feed.read_at(now + state_.poll); });
  return Look{state_.readings.mark().not_before()};
}

HandlerQueue::Clock::time_point HandlerQueue::next_due(Class of, Clock::time_point now) {
  switch (of) {
    case Class::lease:
      return state_.keeper.next_due(state_.leases());
    case Class::hold:
      return state_.admission.hold().news() ? now : Clock::time_point::max();
    case Class::limit:
      return state_.admission.next_limits();
    case Class::claim:
      return ClaimQuestions::next_due(state_, feed_, now);
  }
  return now;
}

std::optional<WindowEnd> HandlerQueue::answer(const Request& request, const Answer& answer,
                                              const std::vector<Loaded>& runs, const Visit& visit) {
  if (const auto* const failure = std::get_if<inbox::DatabaseFailure>(&answer)) {
    failed(request, *failure, visit);
    return std::nullopt;
  }
  return std::visit(
      [&](const auto& question) {
        using Result = typename std::decay_t<decltype(question)>::Result;
        return answered(question, std::get<Result>(answer), runs, visit);
      },
      request);
}

/// A refused question does not hold up the others of its class. Without a connection, the visit ends.
void HandlerQueue::failed(const Request& request, const inbox::DatabaseFailure& failure, const Visit& visit) {
  if (is_disconnected(failure)) {
    hold_steps_.restart();
    limit_steps_.restart();
    claims_.restart();
  }
  LeaseKeeper& keeper = state_.keeper;
  keeper.failed(request, failure);
  const auto* const in_order = std::get_if<ClaimInOrder>(&request);
  if (in_order != nullptr) keeper.lost_claim(in_order->request.claim.fence, visit.asked);
  const auto* const claim = std::get_if<Claim>(&request);
  if (claim != nullptr && is_disconnected(failure)) keeper.lost_claim(claim->request.fence, visit.asked);
  if (in_order != nullptr || claim != nullptr) state_.room.claim(0);
}

/// The part of the state that asks a question takes its answer.
template <class Question>
std::optional<WindowEnd> HandlerQueue::answered(const Question& question, const typename Question::Result& result,
                                                const std::vector<Loaded>& /*runs*/, const Visit& visit) {
  if constexpr (requires { state_.keeper.answered(state_.leases(), question, result, visit); }) {
    state_.keeper.answered(state_.leases(), question, result, visit);
  } else if constexpr (requires { state_.admission.answered(question, result, visit); }) {
    apply(state_.admission.answered(question, result, visit));
  } else if constexpr (requires { claims_.answered(state_, feed_, question, result, visit); }) {
    claims_.answered(state_, feed_, question, result, visit);
  } else {
    feed_.with([&](auto& feed) { feed.answered(state_, question, result, visit); });
  }
  return std::nullopt;
}

std::optional<WindowEnd> HandlerQueue::answered(const Claim& question, const Claim::Result& result,
                                                const std::vector<Loaded>& runs, const Visit& visit) {
  const inbox::ClaimRequest& request = question.request;
  state_.end_claim(result.claimed);
  std::int64_t events = 0;
  std::int64_t bytes = 0;
  for (const Loaded& each : runs) {
    events += static_cast<std::int64_t>(each.run->size());
    bytes += each.bytes;
    add(each.run, each.bytes, visit.asked + request.lease);
  }
  const auto is_retry = [](const Loaded& each) {
    return each.run->lease.attempts > 0 || each.run->lease.was_deferred;
  };
  const bool is_cut = bytes * byte_bound_part >= static_cast<std::int64_t>(request.bytes);
  state_.due.end({events >= request.events, request.rows, result.claimed.rows_locked, result.found_crashed || is_cut,
                  !runs.empty() && std::all_of(runs.begin(), runs.end(), is_retry)},
                 visit.came);
  // Claimed without payloads for a plugin that now wants them.
  if (state_.queue.released_runs() > 0) state_.due.set_backlog(true);
  return std::nullopt;
}

std::optional<WindowEnd> HandlerQueue::answered(const ClaimInOrder& /*question*/, const inbox::ClaimedInOrder& result,
                                                const std::vector<Loaded>& runs, const Visit& visit) {
  const inbox::Claimed& claimed = result.claimed;
  state_.end_claim(claimed);
  for (const Loaded& each : runs) add(each.run, each.bytes, visit.asked);
  // Rows beyond the bytes are not in memory, whichever sequence they are of.
  const bool is_cut = !claimed.excess.empty() || !claimed.empty.empty();
  auto sequences = result.sequences;
  using State = inbox::SequenceRead::State;
  for (inbox::SequenceRead& read : sequences) {
    if (is_cut && read.state == State::end) read.state = State::more;
  }
  return feed_.with([&](auto& feed) { return feed.read(state_, sequences, is_cut, !runs.empty(), visit.came); });
}

// ---- workers

void HandlerQueue::worked(const Work& done) {
  if (done.events > 0) state_.room.pace().worked(done.events, done.busy);
  if (done.had_events) state_.admission.end_work();
  if (done.answered) state_.admission.is_back();
}

HandlerQueue::Taken HandlerQueue::take(Clock::time_point now) {
  Taken out;
  Admission& admission = state_.admission;
  if (admission.state() == Admission::State::trial) return out;
  if (state_.sequences.count() > 0) {
    state_.sequences.drain_overdue(now);
    leave_memory(now);
  }
  do {
    out.uncalled = feed_.with([&](auto& feed) { return feed.take_behind(state_.queue); });
    if (!out.uncalled.empty() || state_.queue.queued() == 0) return out;
    const auto may = admission.may_take(now);
    if (may.asks) state_.wakes.claimer = true;
    if (!may.take) return out;
    out.slices = feed_.with([&](auto& feed) { return feed.take(state_, now); });
  } while (out.slices.empty() && feed_.with([](const auto& feed) { return feed.any_behind(); }));
  if (out.slices.empty()) return out;
  if (feed_.with([&](const auto& feed) { return feed.has_more(state_.queue); })) ++state_.wakes.workers;
  return begin(std::move(out), now);
}

/// Counts what a worker takes; on trial it is a single event.
HandlerQueue::Taken HandlerQueue::begin(Taken taken, Clock::time_point now) {
  taken.had_events = true;
  if (state_.admission.tries_one()) {
    std::vector<RunSlice> rest = std::exchange(taken.slices, {});
    RunSlice one = rest.front();
    one.end = one.first + 1;
    if (++rest.front().first == rest.front().end) rest.erase(rest.begin());
    taken.slices.push_back(std::move(one));
    feed_.with([&](auto& feed) { feed.put_back(state_.queue, std::move(rest), now); });
  }
  std::int64_t events = 0;
  for (const RunSlice& slice : taken.slices) events += slice.size();
  state_.admission.take(events);
  return taken;
}

void HandlerQueue::not_called(std::int64_t events, bool all) {
  state_.admission.give_back(events, all);
  if (all) ++state_.wakes.workers;
}

void HandlerQueue::put_back(std::vector<RunSlice> slices, Clock::time_point now) {
  std::int64_t events = 0;
  for (const RunSlice& slice : slices) events += slice.size();
  state_.admission.give_back(events, true);
  feed_.with([&](auto& feed) { feed.put_back(state_.queue, std::move(slices), now); });
  if (state_.queue.queued() > 0) ++state_.wakes.workers;
}

void HandlerQueue::review(Pace::Running running, Clock::time_point now) {
  state_.room.pace().note_running(running);
  apply(state_.admission.review(now, state_.queue.events() > 0));
  if (feed_.with([&](auto& feed) { return feed.review(state_, now); })) state_.due.set_backlog(true);
}

// ---- the settler

void HandlerQueue::settled(const settler::Run& run, std::int64_t events, Clock::time_point now) {
  state_.queue.settled(run, events);
  feed_.with([&](auto& feed) { feed.settled(state_, run, events, now); });
}

void HandlerQueue::settled_in_order(const settler::Run& run, const settler::KeyEffects& effects,
                                    Clock::time_point now) {
  feed_.with([&](auto& feed) { feed.settled_in_order(run, effects, state_.queue.holds(run)); });
  const bool is_row_over = run.lease.lane && run.recorded >= run.size();
  if (is_row_over || !effects.waiting.empty()) read_now(now);  // the lane's next row is due
  ++state_.wakes.workers;
}

void HandlerQueue::lost(const settler::Run& run, std::int64_t events) {
  if (!state_.queue.lost(run, events)) return;
  state_.admission.lose_trial();
  ++state_.wakes.workers;
  if (run.lease.sequence) state_.sequences.drain(*run.lease.sequence);
}

void HandlerQueue::retry_at(Clock::time_point due) {
  if (state_.due.add_retry(due)) state_.wakes.claimer = true;
}

}  // namespace inboxd::dispatcher
