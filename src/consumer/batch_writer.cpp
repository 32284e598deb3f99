#include "consumer/batch_writer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "consumer/poison_search.hpp"
#include "inbox/answer.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr auto initial_backoff = 50ms;
constexpr auto max_backoff = 5'000ms;
constexpr auto backoff_step = 20ms;
/// Between two checks for lost registrations.
constexpr auto restore_wait = 200ms;

/// For a handler's events to leave memory.
constexpr auto max_wait_for_room = 50ms;
constexpr auto room_step = 1ms;
constexpr std::size_t min_large_batch = 256;

/// Waits. False as soon as `give_up` returns true.
bool wait(std::chrono::milliseconds time, const std::function<bool()>& give_up) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (give_up()) return false;
    std::this_thread::sleep_for(backoff_step);
  }
  return !give_up();
}

/// Counts itself while it lives.
class ScopedCount {
 public:
  explicit ScopedCount(std::atomic<int>& count) : count_{count} { count_ += 1; }
  ~ScopedCount() { count_ -= 1; }
  ScopedCount(const ScopedCount&) = delete;
  ScopedCount& operator=(const ScopedCount&) = delete;

 private:
  std::atomic<int>& count_;
};

/// Copies the events of leased runs into a block, each event once for all handlers.
class Copier {
 public:
  Copier(const std::vector<event::Event>& events, event::Microseconds received_at)
      : events_{events},
        received_at_{received_at},
        copies_(events.size()),
        block_{std::make_shared<inbox::EventBlock>()} {
    block_->events.reserve(events.size());  // no copy may move: runs point to them
  }

  /// Searches for the run's events from index `from` of the batch, and moves `from` past the last of them.
  void fill(inbox::LeasedRun& run, std::size_t& from) {
    run.block = block_;
    const std::int64_t end = run.pending.ranges().back().end;
    while (from < events_.size() && events_[from].shard_id != run.shard_id) ++from;
    for (; from < events_.size() && events_[from].shard_id == run.shard_id && events_[from].offset < end; ++from) {
      if (run.pending.contains(events_[from].offset)) run.events.push_back(copied(from));
    }
  }

 private:
  const event::Event* copied(std::size_t index) {
    if (copies_[index] == nullptr) {
      event::Event& own = block_->events.emplace_back(event::copy(events_[index], block_->arena));
      own.received_at = received_at_;
      copies_[index] = &own;
    }
    return copies_[index];
  }

  const std::vector<event::Event>& events_;
  event::Microseconds received_at_;
  std::vector<const event::Event*> copies_;
  std::shared_ptr<inbox::EventBlock> block_;
};

const Part* part_of(const Batch& batch, std::int32_t shard_id) {
  const auto found = std::find_if(batch.parts.begin(), batch.parts.end(),
                                  [&](const Part& part) { return part.shard->position.shard_id == shard_id; });
  return found == batch.parts.end() ? nullptr : &*found;
}

/// Of the events of a handler in memory, about.
std::size_t bytes_of(const Batch& batch, const HandlerRuns& planned) {
  const std::size_t each = sizeof(event::Event) + batch.bytes / std::max<std::size_t>(batch.records(), 1);
  return each * static_cast<std::size_t>(planned.events);
}

bool is_stored(const inbox::IngestResult& result, std::int32_t shard_id) {
  return std::find(result.mismatched.begin(), result.mismatched.end(), shard_id) == result.mismatched.end();
}

std::string remedy_for(const std::string& reason) {
  if (reason == "no_id") return "set topics[].on_missing_id, or envelope: custom; ";
  if (reason == "bad_id") return "correct topics[].custom.id; ";
  if (reason == "too_large") return "raise topics[].payload_limit; ";
  return "";
}

}  // namespace

BatchWriter::BatchWriter(const config::Settings& settings, const base::Uuid& owner, inbox::Connection& connection,
                         inbox::Registrations& registrations, HandOff& hand_off, IngestCounts& counts,
                         base::Logger& log)
    : settings_{settings},
      owner_{owner},
      connection_{connection},
      hand_off_{hand_off},
      counts_{counts},
      log_{log},
      routing_{connection, registrations, settings.database.deadline, log} {}

BatchWriter::Written BatchWriter::write(Batch& batch, const std::function<bool()>& give_up) {
  std::chrono::milliseconds backoff = initial_backoff;
  const auto began = std::chrono::steady_clock::now();
  TriesInDoubt in_doubt;
  std::optional<ScopedCount> held;
  bool may_lease_in_order = true;
  while (true) {
    Plan plan;
    // nullopt: try again at once.
    const auto answer = inbox::ask([&]() -> std::optional<Written> {
      if (!routing_.refresh()) {
        if (!held) held.emplace(counts_.held);
        if (!wait(restore_wait, give_up)) return Written{true, {}};
        return std::nullopt;
      }
      held.reset();
      plan.ingest = without_runs(batch);
      route_batch(plan, batch);
      wait_for_room(plan, batch, give_up);
      reserve(plan, batch, may_lease_in_order);
      const auto result = inbox::ingest(connection_, plan.ingest);
      if (!result.routing_is_stale && !result.sequence_is_lost) {
        hand_over(batch, plan, result);
        counts_.batch_seconds.observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
        report(batch, result);
        count_unsubscribed(batch, plan, result);
        if (!result.mismatched.empty()) release_leases_in_doubt(in_doubt);
        return Written{false, result.mismatched};
      }
      release_reservations(plan);
      if (result.routing_is_stale) routing_.invalidate();
      may_lease_in_order = false;  // lost to another process or a replay; the claimer finds out
      if (give_up()) return Written{true, {}};
      return std::nullopt;
    });
    if (const auto* const written = std::get_if<std::optional<Written>>(&answer)) {
      if (*written) return **written;
      continue;
    }
    release_reservations(plan);
    const auto& failure = std::get<inbox::DatabaseFailure>(answer);
    if (failure.fault == inbox::Fault::in_doubt) in_doubt.add(plan);
    if (recover(batch, failure)) {
      if (give_up()) return {true, {}};
      continue;
    }
    counts_.repeats += 1;
    if (!wait(backoff, give_up)) return {true, {}};
    backoff = std::min<std::chrono::milliseconds>(backoff * 2, max_backoff);
  }
}

inbox::IngestBatch BatchWriter::without_runs(const Batch& batch) {
  inbox::IngestBatch ingest;
  ingest.owner = owner_;
  ingest.fence = base::random_fence();
  ingest.routing_version = routing_.get().version;
  for (const Part& part : batch.parts) {
    const auto& position = part.shard->position;
    ingest.steps.push_back({position.shard_id, position.epoch, position.next_offset, part.next_offset,
                            part.leader_epoch >= 0 ? part.leader_epoch : position.leader_epoch});
  }
  ingest.events = batch.events;
  ingest.suspects = counts_.filters.suspects(routing_.get().frozen, batch.events);
  ingest.rejected = batch.rejected;
  ingest.staged = batch.staged;
  return ingest;
}

void BatchWriter::route_batch(Plan& plan, const Batch& batch) {
  const auto topic_of = [&](std::int32_t shard_id) -> std::string_view {
    const Part* const part = part_of(batch, shard_id);
    return part == nullptr ? std::string_view{} : part->shard->place->topic;
  };
  std::vector<std::int32_t> shards;
  shards.reserve(batch.parts.size());
  for (const Part& part : batch.parts) shards.push_back(part.shard->position.shard_id);
  plan.handlers = route(batch.events, shards, routing_.get(), topic_of, settings_.ingest.run_events, plan.has_handler);
}

/// Events that find no room are read from the database again, by each handler, which costs several times as much. So a
/// large batch, with more behind it, waits a moment for handlers that have kept up with ingest so far. A handler that
/// takes longer falls behind and is not waited for again until it has caught up.
void BatchWriter::wait_for_room(const Plan& plan, const Batch& batch, const std::function<bool()>& give_up) {
  const std::size_t half = static_cast<std::size_t>(settings_.ingest.batch_events) / 2;
  const bool is_large = batch.events.size() >= std::max(half, min_large_batch) ||
                        2 * batch.bytes >= settings_.ingest.batch_bytes;
  if (!is_large) return;
  const auto lacks_room = [&](const HandlerRuns& planned) {
    const auto part = planned.ordered_shard ? std::optional{in_order(batch, planned)} : std::nullopt;
    return hand_off_.lacks_room(planned.handler_id, part ? &*part : nullptr, planned.events, bytes_of(batch, planned));
  };
  const auto end = std::chrono::steady_clock::now() + max_wait_for_room;
  while (std::ranges::any_of(plan.handlers, lacks_room) && std::chrono::steady_clock::now() < end && !give_up()) {
    std::this_thread::sleep_for(room_step);
  }
}

/// Each reservation is in the plan at once, so that release_reservations() finds it after an exception.
void BatchWriter::reserve(Plan& plan, const Batch& batch, bool may_lease_in_order) {
  plan.reservations.reserve(plan.handlers.size());
  for (HandlerRuns& planned : plan.handlers) {
    const std::size_t bytes = bytes_of(batch, planned);
    if (!planned.ordered_shard) {
      plan.reservations.push_back(hand_off_.reserve(planned.handler_id, planned.events, bytes));
    } else if (may_lease_in_order) {
      const HandOff::InOrder part = in_order(batch, planned);
      plan.parts_in_order[plan.reservations.size()] = part;
      plan.reservations.push_back(hand_off_.reserve_in_order(planned.handler_id, part, planned.events, bytes));
    } else {
      plan.reservations.emplace_back();
    }
    lease_reserved(planned, plan.reservations.back());
    plan.ingest.runs.insert(plan.ingest.runs.end(), planned.runs.begin(), planned.runs.end());
  }
}

void BatchWriter::release_reservations(Plan& plan) {
  for (std::size_t i = 0; i < plan.reservations.size(); ++i) {
    const std::int64_t events = plan.reservations[i].events;
    if (events > 0) hand_off_.release(plan.handlers[i].handler_id, events);
    end_in_order(plan, i, false);
  }
}

HandOff::InOrder BatchWriter::in_order(const Batch& batch, const HandlerRuns& planned) {
  const Part& part = *part_of(batch, *planned.ordered_shard);
  return {*planned.ordered_shard, part.shard->position.epoch, part.shard->position.next_offset, part.next_offset};
}

/// Ends a reservation for a handler that keeps order, once.
void BatchWriter::end_in_order(Plan& plan, std::size_t number, bool is_in_memory) {
  if (!std::exchange(plan.reservations[number].is_open, false)) return;
  hand_off_.end_in_order(plan.handlers[number].handler_id, plan.parts_in_order.at(number),
                         plan.reservations[number].sequence, is_in_memory);
}

void BatchWriter::TriesInDoubt::add(const Plan& plan) {
  const std::size_t before = handlers.size();
  for (std::size_t i = 0; i < plan.reservations.size(); ++i) {
    if (plan.reservations[i].events > 0) handlers.push_back(plan.handlers[i].handler_id);
  }
  if (handlers.size() > before) fences.push_back(plan.ingest.fence);
}

/// A mismatch may mean that a try in doubt was committed. Its leased runs were never handed over, and without this they
/// would wait for their leases to run out. The try has ended: the connection waits for that.
void BatchWriter::release_leases_in_doubt(const TriesInDoubt& in_doubt) {
  if (in_doubt.fences.empty()) return;
  const auto failure = inbox::failure_of([&] {
    const auto deliveries = inbox::release_born(connection_, owner_, in_doubt.fences, in_doubt.handlers);
    if (deliveries == 0) return;
    for (const std::int32_t handler : in_doubt.handlers) hand_off_.notify_due(handler);
    log_.info("ingest.in_doubt_leases_released", {{"deliveries", deliveries}});
  });
  if (failure) log_.debug("ingest.in_doubt_leases_kept", {{"error", failure->message}});
}

/// The plan keeps the unused part of each reservation, so that release_reservations() finds it after an exception.
void BatchWriter::hand_over(const Batch& batch, Plan& plan, const inbox::IngestResult& result) {
  Copier copier{batch.events, result.received_at};
  std::size_t index = 0;
  for (std::size_t i = 0; i < plan.handlers.size(); ++i) {
    std::int64_t& reserved = plan.reservations[i].events;
    bool left_due = false;
    std::vector<inbox::LeaseKey> not_handed_over;
    std::size_t from = plan.handlers[i].first_event;
    for (const inbox::PlannedRun& planned : plan.handlers[i].runs) {
      const inbox::BornRun& born = result.born[index++];
      if (born.delivery_id == 0) continue;
      if (planned.lease.count() == 0) {
        // Nothing is to be claimed now for runs that wait for their time.
        left_due = left_due || !planned.due || plan.handlers[i].ordered_shard;
        continue;
      }
      if (plan.handlers[i].ordered_shard && !not_handed_over.empty()) {
        not_handed_over.push_back({born.delivery_id, plan.ingest.fence});  // it must not run before the missing event
        continue;
      }
      inbox::LeasedRun run;
      run.handler_id = planned.handler_id;
      run.shard_id = planned.shard_id;
      run.key = {born.delivery_id, plan.ingest.fence};
      run.pending = born.pending.value_or(planned.pending);
      run.sequence = planned.sequence;
      run.ordinal = born.delivery_id;
      run.place = part_of(batch, planned.shard_id)->shard->place;
      try {
        copier.fill(run, from);
        const auto events = static_cast<std::int64_t>(run.events.size());
        reserved -= events;
        hand_off_.hand_over(std::move(run), events);
      } catch (const std::exception& thrown) {
        not_handed_over.push_back({born.delivery_id, plan.ingest.fence});
        log_.error("ingest.hand_over_failed", {{"error", thrown.what()}});
      }
    }
    if (reserved > 0) hand_off_.release(plan.handlers[i].handler_id, reserved);
    reserved = 0;
    release_leases(not_handed_over);
    const bool all_in_memory = !left_due && not_handed_over.empty();
    const auto shard = plan.handlers[i].ordered_shard;
    end_in_order(plan, i, all_in_memory && (!shard || is_stored(result, *shard)));
    if (!all_in_memory) hand_off_.notify_due(plan.handlers[i].handler_id);
  }
}

/// Otherwise they would wait for their leases to run out, as after a crash.
void BatchWriter::release_leases(const std::vector<inbox::LeaseKey>& not_handed_over) {
  if (not_handed_over.empty()) return;
  const auto failure = inbox::failure_of([&] { inbox::release_leases(connection_, owner_, not_handed_over); });
  if (failure) log_.debug("ingest.leases_kept", {{"error", failure->message}});
}

/// Records of mismatched shards are read again, and counted then.
void BatchWriter::report(const Batch& batch, const inbox::IngestResult& result) {
  std::vector<const inbox::QuarantinedRecord*> rejected;
  for (const auto& record : batch.rejected) {
    if (is_stored(result, record.shard_id)) rejected.push_back(&record);
  }
  for (const Part& part : batch.parts) {
    if (is_stored(result, part.shard->position.shard_id)) count(part.decoded);
  }
  counts_.batches += 1;
  counts_.disk.clear();
  counts_.stored += static_cast<std::uint64_t>(result.stored);
  counts_.duplicates += static_cast<std::uint64_t>(result.duplicates);
  counts_.conflicts += static_cast<std::uint64_t>(result.conflicts);
  counts_.resends.add(result.resend_seconds);
  counts_.quarantined += rejected.size();
  counts_.mismatches += result.mismatched.size();
  counts_.batch_records.observe(static_cast<double>(batch.records()));
  if (result.conflicts > 0) {
    log_.error("ingest.event_id_conflict", {{"conflicts", result.conflicts}});
  }
  if (!rejected.empty()) {
    const auto& first = *rejected.front();
    const Part* const part = part_of(batch, first.shard_id);
    const std::string topic = part == nullptr ? "" : part->shard->place->topic;
    log_.warn("ingest.quarantined", {{"records", rejected.size()},
                                     {"topic", topic},
                                     {"partition", part == nullptr ? -1 : part->shard->place->partition},
                                     {"offset", first.offset},
                                     {"reason", first.reason},
                                     {"remedy", remedy_for(first.reason) + "inboxd quarantine list --topic " + topic}});
  }
  log_.debug("ingest.batch_stored", {{"new", result.stored},
                                     {"duplicate", result.duplicates},
                                     {"quarantined", rejected.size()},
                                     {"shards", batch.parts.size()},
                                     {"mismatched", result.mismatched.size()}});
}

/// The database does not tell which events are duplicates: duplicates in a batch with new events are counted again.
void BatchWriter::count_unsubscribed(const Batch& batch, const Plan& plan, const inbox::IngestResult& result) {
  if (result.stored == 0) return;
  std::map<std::pair<std::int32_t, std::string_view>, std::int64_t> found;  // by shard and type
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    const event::Event& event = batch.events[i];
    if (!plan.has_handler[i] && is_stored(result, event.shard_id)) ++found[{event.shard_id, event.event_type}];
  }
  for (const auto& [key, events] : found) {
    const Part* const part = part_of(batch, key.first);
    if (part != nullptr) counts_.unsubscribed.add(part->shard->place->topic, key.second, events);
  }
}

void BatchWriter::count(const DecodeCounts<std::uint32_t>& decoded) {
  for (std::size_t rule = 0; rule < decoded.size(); ++rule) {
    for (std::size_t as = 0; as < decoded[rule].size(); ++as) {
      if (decoded[rule][as] > 0) counts_.decoded[rule][as] += decoded[rule][as];
    }
  }
}

bool BatchWriter::recover(Batch& batch, const inbox::DatabaseFailure& failure) {
  const base::Logger::Facts facts{{"fault", name_of(failure.fault)},
                                  {"sqlstate", failure.sqlstate},
                                  {"events", batch.events.size()},
                                  {"error", failure.message}};
  failure.sqlstate == "53100" ? counts_.disk.note(failure.message) : counts_.disk.clear();
  // The search for poison needs the version: with an unknown version it would write nothing, and so find nothing.
  if (failure.fault != inbox::Fault::poison) routing_.invalidate();
  switch (failure.fault) {
    case inbox::Fault::poison:
      return quarantine_poison(batch);
    case inbox::Fault::stop:
      log_.error("ingest.batch_refused", facts);
      return false;
    case inbox::Fault::in_doubt:
      log_.warn("ingest.commit_in_doubt", facts);
      return false;
    default:
      log_.warn("ingest.batch_failed", facts);
      return false;
  }
}

bool BatchWriter::quarantine_poison(Batch& batch) {
  const auto answer = inbox::ask([&] {
    const inbox::IngestBatch whole = without_runs(batch);
    PoisonSearch search{connection_, whole};
    const std::vector<PoisonEvent> found = search.run();
    if (found.empty() || !search.is_any_accepted(found)) {
      log_.error("ingest.poison_not_found", {{"events", batch.events.size()}, {"refused", found.size()}});
      return false;
    }
    for (auto poison = found.rbegin(); poison != found.rend(); ++poison) {
      batch.rejected.push_back(quarantined(batch.events[poison->index], "the database refused it: " + poison->error));
      batch.events.erase(batch.events.begin() + static_cast<std::ptrdiff_t>(poison->index));
    }
    return true;
  });
  if (const bool* const is_quarantined = std::get_if<bool>(&answer)) return *is_quarantined;
  const auto& failure = std::get<inbox::DatabaseFailure>(answer);
  log_.warn("ingest.poison_search_failed", {{"fault", name_of(failure.fault)}, {"error", failure.message}});
  return false;
}

}  // namespace inboxd::consumer
