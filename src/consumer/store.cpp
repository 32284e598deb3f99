#include "consumer/store.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/text.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr auto first_backoff = 50ms;
constexpr auto longest_backoff = 5'000ms;
constexpr auto backoff_step = 20ms;
/// Between two looks whether the handlers are put back.
constexpr auto set_back_wait = 200ms;
/// Culprits taken out before the batch is tried again (and more are looked for).
constexpr std::size_t most_poison_at_once = 64;
/// Where more records than this are all refused, it is not the data: something is wrong with the database. Of so few,
/// one of ours is asked about.
constexpr std::size_t most_that_may_all_be_bad = 8;
/// Records looked at behind the last culprit, spread evenly, where none has been accepted so far.
constexpr std::size_t samples = 16;

/// Waits, but no longer than `give_up` allows; false where it said so.
bool wait(std::chrono::milliseconds time, const std::function<bool()>& give_up) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (give_up()) return false;
    std::this_thread::sleep_for(backoff_step);
  }
  return !give_up();
}

/// Is counted while it is there.
class Held {
 public:
  explicit Held(std::atomic<int>& held) : held_{held} { held_ += 1; }
  ~Held() { held_ -= 1; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::atomic<int>& held_;
};

/// Copies the events of born runs into one block, each event once however many handlers get it.
class Copier {
 public:
  Copier(const std::vector<event::Event>& events, event::Microseconds received_at)
      : events_{events},
        received_at_{received_at},
        copies_(events.size()),
        block_{std::make_shared<inbox::EventBlock>()} {
    block_->events.reserve(events.size());  // no copy may move: runs point to them
  }

  /// `from` is where to look for the run's events in the batch; moved behind the last of them.
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

}  // namespace

Store::Store(const config::Settings& settings, const base::Uuid& owner, inbox::Connection& connection,
             inbox::Registrations& registrations, HandOff& hand_off, IngestCounts& counts, base::Logger& log)
    : settings_{settings},
      owner_{owner},
      connection_{connection},
      hand_off_{hand_off},
      counts_{counts},
      log_{log},
      routing_{connection, registrations, settings.database.deadline, log} {}

Store::Stored Store::store(Batch& batch, const std::function<bool()>& give_up) {
  std::chrono::milliseconds backoff = first_backoff;
  const auto began = std::chrono::steady_clock::now();
  Doubt doubt;
  std::optional<Held> held;
  while (true) {
    Plan plan;
    try {
      if (!routing_.know()) {
        if (!held) held.emplace(counts_.held);
        if (!wait(set_back_wait, give_up)) return {true, {}};
        continue;
      }
      held.reset();
      plan.ingest = without_runs(batch);
      add_runs(plan, batch);
      const auto result = inbox::ingest(connection_, plan.ingest);
      if (!result.routing_is_stale) {
        hand_over(batch, plan, result);
        counts_.batch_seconds.observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
        report(batch, result);
        if (!result.mismatched.empty()) resolve(doubt);
        return {false, result.mismatched};
      }
      release(plan);
      routing_.forget();
      if (give_up()) return {true, {}};
      continue;
    } catch (...) {
      release(plan);
      const auto failure = inbox::describe_any(std::current_exception());
      if (failure.fault == inbox::Fault::in_doubt) doubt.note(plan);
      if (recover(batch, failure)) {
        if (give_up()) return {true, {}};
        continue;
      }
    }
    counts_.repeats += 1;
    if (!wait(backoff, give_up)) return {true, {}};
    backoff = std::min<std::chrono::milliseconds>(backoff * 2, longest_backoff);
  }
}

inbox::IngestBatch Store::without_runs(const Batch& batch) {
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
  ingest.rejected = batch.rejected;
  return ingest;
}

/// What is reserved is in the plan at once, so that release() finds it where this ends early.
void Store::add_runs(Plan& plan, const Batch& batch) {
  const auto topic_of = [&](std::int32_t shard_id) -> std::string_view {
    const Part* const part = part_of(batch, shard_id);
    return part == nullptr ? std::string_view{} : part->shard->place->topic;
  };
  plan.owed = route(batch.events, routing_.get(), topic_of, settings_.ingest.run_events);
  plan.rooms.reserve(plan.owed.size());
  const std::size_t bytes_per_event =
      sizeof(event::Event) + batch.bytes / std::max<std::size_t>(batch.messages.size(), 1);
  for (Owed& owed : plan.owed) {
    plan.rooms.push_back(
        hand_off_.reserve(owed.handler_id, owed.events, bytes_per_event * static_cast<std::size_t>(owed.events)));
    lease_as_room_allows(owed, plan.rooms.back());
    plan.ingest.runs.insert(plan.ingest.runs.end(), owed.runs.begin(), owed.runs.end());
  }
}

void Store::release(const Plan& plan) {
  for (std::size_t i = 0; i < plan.rooms.size(); ++i) {
    const std::int64_t events = plan.rooms[i].events;
    if (events > 0) hand_off_.release(plan.owed[i].handler_id, events);
  }
}

void Store::Doubt::note(const Plan& plan) {
  const std::size_t before = handlers.size();
  for (std::size_t i = 0; i < plan.rooms.size(); ++i) {
    if (plan.rooms[i].events > 0) handlers.push_back(plan.owed[i].handler_id);
  }
  if (handlers.size() > before) fences.push_back(plan.ingest.fence);
}

/// A batch whose shards have moved on may have been stored by a try that was in doubt, whose answer, with what was born
/// leased, nobody got: without this it would wait for its leases to run out. That try is over, or the connection would
/// still wait for its end.
void Store::resolve(const Doubt& doubt) {
  if (doubt.fences.empty()) return;
  try {
    const auto deliveries = inbox::give_back_born(connection_, owner_, doubt.fences, doubt.handlers);
    if (deliveries == 0) return;
    for (const std::int32_t handler : doubt.handlers) hand_off_.born_due(handler);
    log_.info("ingest: a batch in doubt was stored, what it was born with is given back", {{"deliveries", deliveries}});
  } catch (...) {
    log_.debug("ingest: what a batch in doubt was born with waits for the end of its leases",
               {{"error", inbox::describe_any(std::current_exception()).message}});
  }
}

/// What is reserved still is kept up, so that release() does the rest where this ends early.
void Store::hand_over(const Batch& batch, Plan& plan, const inbox::IngestResult& result) {
  Copier copier{batch.events, result.received_at};
  std::size_t index = 0;
  for (std::size_t i = 0; i < plan.owed.size(); ++i) {
    std::int64_t& reserved = plan.rooms[i].events;
    bool left_due = false;
    std::vector<inbox::LeaseKey> not_taken;
    std::size_t from = 0;
    for (const inbox::PlannedRun& planned : plan.owed[i].runs) {
      const inbox::BornRun& born = result.born[index++];
      if (born.delivery_id == 0) continue;
      if (planned.lease.count() == 0) {
        left_due = true;
        continue;
      }
      inbox::LeasedRun run;
      run.handler_id = planned.handler_id;
      run.shard_id = planned.shard_id;
      run.key = {born.delivery_id, plan.ingest.fence};
      run.pending = born.pending.value_or(planned.pending);
      run.place = part_of(batch, planned.shard_id)->shard->place;
      try {
        copier.fill(run, from);
        const auto events = static_cast<std::int64_t>(run.events.size());
        reserved -= events;
        hand_off_.hand_over(std::move(run), events);
      } catch (const std::exception& thrown) {
        not_taken.push_back({born.delivery_id, plan.ingest.fence});
        log_.error("ingest: what is stored could not be taken in hand, it is claimed later",
                   {{"error", thrown.what()}});
      }
    }
    if (reserved > 0) hand_off_.release(plan.owed[i].handler_id, reserved);
    reserved = 0;
    give_back(not_taken);
    if (left_due || !not_taken.empty()) hand_off_.born_due(plan.owed[i].handler_id);
  }
}

/// Without this it would wait for the end of its leases, as after an unclean end.
void Store::give_back(const std::vector<inbox::LeaseKey>& not_taken) {
  if (not_taken.empty()) return;
  try {
    inbox::give_back(connection_, owner_, not_taken);
  } catch (...) {
    log_.debug("ingest: what could not be taken in hand waits for the end of its leases",
               {{"error", inbox::describe_any(std::current_exception()).message}});
  }
}

/// Records of shards that have not moved are read again, and counted then.
void Store::report(const Batch& batch, const inbox::IngestResult& result) {
  const auto has_moved = [&](std::int32_t shard_id) {
    return std::find(result.mismatched.begin(), result.mismatched.end(), shard_id) == result.mismatched.end();
  };
  std::vector<const inbox::QuarantinedRecord*> rejected;
  for (const auto& record : batch.rejected) {
    if (has_moved(record.shard_id)) rejected.push_back(&record);
  }
  for (const Part& part : batch.parts) {
    if (has_moved(part.shard->position.shard_id)) count(part.decoded);
  }
  counts_.batches += 1;
  counts_.stored += static_cast<std::uint64_t>(result.stored);
  counts_.duplicates += static_cast<std::uint64_t>(result.duplicates);
  counts_.conflicts += static_cast<std::uint64_t>(result.conflicts);
  counts_.quarantined += rejected.size();
  counts_.mismatches += result.mismatched.size();
  counts_.batch_records.observe(static_cast<double>(batch.messages.size()));
  if (result.conflicts > 0) {
    log_.error("ingest: the same event id came with another payload; the later records are in quarantine",
               {{"conflicts", result.conflicts}, {"look", "inboxd quarantine list"}});
  }
  if (!rejected.empty()) {
    const auto& first = *rejected.front();
    const Part* const part = part_of(batch, first.shard_id);
    log_.warn("ingest: records went to quarantine",
              {{"records", rejected.size()},
               {"topic", part == nullptr ? "" : part->shard->place->topic},
               {"partition", part == nullptr ? -1 : part->shard->place->partition},
               {"offset", first.offset},
               {"reason", first.reason}});
  }
  log_.debug("ingest: stored", {{"new", result.stored},
                                {"duplicate", result.duplicates},
                                {"quarantined", rejected.size()},
                                {"shards", batch.parts.size()},
                                {"mismatched", result.mismatched.size()}});
}

void Store::count(const DecodeCounts<std::uint32_t>& decoded) {
  for (std::size_t rule = 0; rule < decoded.size(); ++rule) {
    for (std::size_t as = 0; as < decoded[rule].size(); ++as) {
      if (decoded[rule][as] > 0) counts_.decoded[rule][as] += decoded[rule][as];
    }
  }
}

bool Store::recover(Batch& batch, const inbox::DatabaseFailure& failure) {
  const base::Logger::Facts facts{{"fault", name_of(failure.fault)},
                                  {"sqlstate", failure.sqlstate},
                                  {"events", batch.events.size()},
                                  {"error", failure.message}};
  // A rehearsal under a routing version that nobody knows would write nothing, and so find nothing.
  if (failure.fault != inbox::Fault::poison) routing_.forget();
  switch (failure.fault) {
    case inbox::Fault::poison: return take_out_poison(batch);
    case inbox::Fault::stop:
      log_.error("ingest: the database refuses the batch; nothing is lost, it is tried again", facts);
      return false;
    case inbox::Fault::in_doubt:
      log_.warn("ingest: whether the batch was committed is unknown; the whole batch runs again", facts);
      return false;
    default: log_.warn("ingest: the batch is tried again", facts); return false;
  }
}

bool Store::take_out_poison(Batch& batch) {
  try {
    const inbox::IngestBatch whole = without_runs(batch);
    std::vector<Culprit> found;
    // Without any event it has to go through: otherwise it is none of theirs.
    if (!refusal(whole, 0, 0)) find_poison(whole, 0, batch.events.size(), found);
    if (found.empty() || !is_any_accepted(whole, found)) {
      log_.error(
          "ingest: the database refuses the batch as bad data, but not for single records of it; it is tried again",
          {{"events", batch.events.size()}, {"refused", found.size()}});
      return false;
    }
    for (auto culprit = found.rbegin(); culprit != found.rend(); ++culprit) {
      batch.rejected.push_back(quarantined(batch.events[culprit->index], "the database refused it: " + culprit->says));
      batch.events.erase(batch.events.begin() + static_cast<std::ptrdiff_t>(culprit->index));
    }
    return true;
  } catch (...) {
    const auto failure = inbox::describe_any(std::current_exception());
    log_.warn("ingest: looking for the bad record failed",
              {{"fault", name_of(failure.fault)}, {"error", failure.message}});
    return false;
  }
}

std::optional<std::string> Store::refusal(const inbox::IngestBatch& whole, std::size_t begin, std::size_t end) {
  inbox::IngestBatch part;
  part.owner = whole.owner;
  part.fence = whole.fence;
  part.routing_version = whole.routing_version;
  part.steps = whole.steps;
  part.rejected = whole.rejected;
  part.events.assign(whole.events.begin() + static_cast<std::ptrdiff_t>(begin),
                     whole.events.begin() + static_cast<std::ptrdiff_t>(end));
  try {
    inbox::rehearse(connection_, part);
    return std::nullopt;
  } catch (...) {
    const auto failure = inbox::describe(std::current_exception());
    if (failure.fault != inbox::Fault::poison) throw;
    return failure.sqlstate + " " + failure.message;
  }
}

bool Store::is_any_accepted(const inbox::IngestBatch& whole, const std::vector<Culprit>& refused) {
  // Whatever lies between two culprits was accepted.
  const std::size_t looked_at = refused.back().index + 1;
  if (looked_at > refused.size()) return true;
  const std::size_t left = whole.events.size() - looked_at;
  for (std::size_t i = 0; i < std::min(samples, left); ++i) {
    const std::size_t index = looked_at + i * left / std::min(samples, left);
    if (!refusal(whole, index, index + 1)) return true;
  }
  return refused.size() <= most_that_may_all_be_bad &&
         is_harmless_one_accepted(whole, whole.events[refused.front().index]);
}

bool Store::is_harmless_one_accepted(const inbox::IngestBatch& whole, const event::Event& instead_of) {
  inbox::IngestBatch probe = whole;
  event::Event harmless;
  harmless.shard_id = instead_of.shard_id;
  harmless.offset = instead_of.offset;
  harmless.event_id = base::random_uuid();
  harmless.event_type = "inboxd.probe";
  harmless.payload = "{}";
  probe.events = {harmless};
  return !refusal(probe, 0, 1);
}

void Store::find_poison(const inbox::IngestBatch& whole, std::size_t begin, std::size_t end,
                        std::vector<Culprit>& found) {
  if (found.size() >= most_poison_at_once || begin >= end) return;
  auto says = refusal(whole, begin, end);
  if (!says) return;
  if (end - begin == 1) {
    found.push_back({begin, std::move(*says)});
    return;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  find_poison(whole, begin, middle, found);
  find_poison(whole, middle, end, found);
}

}  // namespace inboxd::consumer
