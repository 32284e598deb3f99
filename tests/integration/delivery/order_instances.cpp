#include "integration/delivery/order_instances.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <tuple>

#include "inbox/sequence.hpp"

namespace inboxd::support {
namespace {

using Kind = OrderModel::Outcome::Kind;

constexpr milliseconds hour{3'600'000};
constexpr std::int64_t everything = 1'000'000;
constexpr std::int64_t lane_of(char key) { return 1'000 + key; }

std::string text_of(const std::vector<std::int64_t>& offsets) {
  std::string out;
  for (const auto offset : offsets) out += " " + std::to_string(offset);
  return out;
}

std::string text_of(Kind kind) {
  static const std::array<const char*, 6> names{"done", "retry", "dead", "parks", "parked", "waits"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace

OrderInstances::OrderInstances(std::uint64_t seed, config::OnFailure on_failure)
    : model_{on_failure}, random_{seed}, keys_{1 + pick(3)}, on_failure_{on_failure} {
  config::Handler settings = handler_named("receipt");
  settings.mode = config::Mode::sequential;
  settings.start = Inbox::now();
  inbox::register_handlers(inbox_.connection(), {settings});
  handler_ = static_cast<std::int32_t>(database().number("select handler_id from inbox.handler"));
}

void OrderInstances::note(std::string text) {
  history_.push_back(std::move(text));
  if (history_.size() > 60) history_.pop_front();
}

void OrderInstances::fail(const std::string& complaint) {
  std::string all;
  for (const auto& line : history_) all += line + "\n";
  FAIL(complaint << "; the last steps:\n" << all);
}

// ---- ownership

void OrderInstances::store(Instance& instance) {
  const bool is_leased = instance.fence != 0 && chance(50);
  const int count = 1 + pick(6);
  const std::int64_t first = events();
  std::string keys;
  for (int i = 0; i < count; ++i) keys += key_at(chance(10) ? 0 : 1 + pick(keys_));
  Batch batch{inbox_, instance.id};
  batch.at(shard_, first).events(count).deliver_to(handler_, is_leased ? hour : milliseconds{0});
  inbox::PlannedRun& run = batch.get().runs.back();
  run.sequence = shard_;
  run.sequence_fence = is_leased ? instance.fence : 0;
  const auto stored = batch.store(inbox_.connection());
  note("store " + keys + " from " + std::to_string(first) + (is_leased ? ", leased to " + instance.name : ""));
  const bool is_refused = is_leased && !may_lease(instance);
  demand(stored.sequence_is_lost == is_refused, "ingest and the sequence's owner do not agree");
  if (stored.sequence_is_lost) return;
  for (const auto& event : batch.events()) ids_.push_back(event.event_id);
  for (const char key : keys) model_.store(key, is_leased);
  if (!is_leased) return;
  const auto lease = std::make_shared<Lease>();
  lease->key = {stored.born.at(0).delivery_id, batch.get().fence};
  lease->ordinal = lease->key.delivery_id;
  lease->last = first + count - 1;
  for (std::int64_t offset = first; offset <= lease->last; ++offset) lease->left.insert(offset);
  instance.leases.push_back(lease);
}

void OrderInstances::take(Instance& instance) {
  const bool orphans = chance(20);
  const std::int64_t fence = base::random_fence();
  const auto wanted = orphans ? std::vector<std::int32_t>{} : std::vector{shard_};
  const auto taken = inbox::take_sequences(inbox_.connection(), instance.id, handler_, fence, hour, wanted, orphans,
                                           "sequential/partition/block/unordered/key");
  note(instance.name + " takes the sequence" + (orphans ? " as an orphan" : ""));
  const bool is_free = owner_ == nullptr || owner_has_crashed_;
  const bool has_rows = std::any_of(model_.events().begin(), model_.events().end(), [](const OrderModel::Event& each) {
    return each.state == OrderModel::State::in_log || each.state == OrderModel::State::in_lane;
  });
  demand(!taken.empty() == (orphans ? is_free && has_rows : is_free || owns(instance)), "the wrong owner");
  if (taken.empty()) return;
  owner_ = &instance;
  owner_has_crashed_ = false;
  is_replayed_ = false;
  for (Instance& each : instances_) {
    for (const auto& lease : each.leases) lease->is_lost = true;
    for (const Call& call : each.calls) call.lease->is_lost = true;
  }
  instance.leases.clear();
  if (chance(50)) instance.calls.clear();  // others run on
  instance.fence = fence;
  instance.is_in_doubt = false;
  model_.take();
  check_lanes();
}

void OrderInstances::check_lanes() {
  std::vector<char> keys;
  const auto lanes =
      inbox::read_lanes(inbox_.connection(), handler_, shard_, std::numeric_limits<std::int64_t>::min(), 1'000);
  for (const auto& lane : inbox::check_lanes(inbox_.connection(), handler_, lanes)) {
    keys.push_back(static_cast<char>(lane.lane - lane_of(0)));
    demand(lane.has_events == model_.is_blocked(keys.back()) && lane.is_parked == model_.is_parked(keys.back()),
           "the owner reads a lane in another state");
  }
  demand(keys == model_.keys_with_lanes(), "the owner reads other lanes");
}

void OrderInstances::crash() {
  if (owner_ == nullptr) return;
  database().run("update inbox.sequence set leased_until = clock_timestamp() - interval '1 s'");
  owner_has_crashed_ = true;
  note(owner_->name + " crashes");
  if (chance(50)) return;
  owner_->leases.clear();
  owner_->is_in_doubt = true;
}

// ---- leases

void OrderInstances::claim(Instance& instance) {
  if (instance.fence == 0 || instance.is_in_doubt) return;
  inbox::SequenceToRead read{shard_};
  for (const auto& lease : instance.leases) {
    if (lease->is_of_lane || lease->is_lost) continue;
    std::tie(read.mark, read.mark_offset) =
        std::max(std::pair{read.mark, read.mark_offset}, std::pair{lease->ordinal, lease->last});
  }
  inbox::ClaimInOrderRequest request;
  request.claim.handler_id = handler_;
  request.claim.owner = instance.id;
  request.claim.fence = base::random_fence();
  request.claim.events = chance(50) ? 1 + pick(8) : everything;
  request.claim.rows = 1'000;
  request.claim.claims_to = 1'000'000;
  request.owned = {{shard_, instance.fence}};
  request.read = {read};
  const auto claimed = inbox::claim_in_order(inbox_.connection(), request);
  instance.is_in_doubt = chance(5);  // no answer
  Offsets of_log;
  std::string text;
  for (const auto& run : claimed.claimed.runs) {
    Offsets offsets;
    for (const auto* event : run.events) offsets.push_back(event->offset);
    text += (run.lane ? ", lane" : ", log") + text_of(offsets);
    if (run.lane) model_.claim_lane(offsets);
    if (!run.lane) of_log.insert(of_log.end(), offsets.begin(), offsets.end());
    if (instance.is_in_doubt) continue;
    instance.leases.push_back(std::make_shared<Lease>(Lease{
        run.key, {offsets.begin(), offsets.end()}, run.ordinal, offsets.back(), run.lane.has_value(), false, false}));
  }
  if (!text.empty()) note(instance.name + " claims" + text + (instance.is_in_doubt ? "; no answer" : ""));
  model_.claim_log(of_log);
  using State = inbox::SequenceRead::State;
  const State state = claimed.sequences.at(0).state;
  demand((state == State::lost) == !may_lease(instance), "a claim and the sequence's owner do not agree");
  if (!may_lease(instance)) return demand(claimed.claimed.runs.empty(), "another instance than the owner claims");
  demand(state == State::more || state == State::end, "a claim ends early");
  demand(state != State::end || model_.unleased_log().empty(), "a claim passes over events");
  const auto& runs = claimed.claimed.runs;
  const bool has_suspect = std::any_of(runs.begin(), runs.end(), inbox::is_suspect);  // only a single suspect at a time
  if (request.claim.events == everything && !has_suspect) {
    demand(model_.due_heads().empty(), "a claim passes over lanes");
  }
}

void OrderInstances::release(Instance& instance) {
  if (instance.leases.empty()) return;
  const auto lease = *any_of(instance.leases);
  if (lease->is_lost) return;
  inbox::release_leases(inbox_.connection(), instance.id, {lease->key});
  model_.release({lease->left.begin(), lease->left.end()});
  note(instance.name + " releases" + text_of({lease->left.begin(), lease->left.end()}));
  lease->is_lost = true;
  instance.leases.remove(lease);
}

void OrderInstances::note_replay(bool has_put_back) {
  if (!has_put_back || owner_ == nullptr) return;
  is_replayed_ = true;
  for (Instance& instance : instances_) {
    const auto note_lost = [&](Lease& lease) {
      lease.is_lost = lease.is_lost || (!lease.left.empty() && !model_.event(*lease.left.begin()).is_leased);
    };
    for (const auto& lease : instance.leases) note_lost(*lease);
    for (const Call& call : instance.calls) note_lost(*call.lease);
  }
}

// ---- calls

void OrderInstances::call(Instance& instance) {
  if (instance.leases.empty()) return;
  const auto lease = *any_of(instance.leases);
  Call out{lease, {}};
  std::string text;
  for (const auto offset : lease->left) {
    std::set<std::int64_t> with;
    for (const auto& each : out.outcomes) with.insert(each.offset);
    if (lease->is_lost) {  // the instance does not know
      out.outcomes.push_back({offset});
    } else if (!is_called(instance, *lease, offset) && model_.is_in_turn(offset, with)) {
      out.outcomes.push_back(decide(*lease, offset, out));
      const bool is_called = out.outcomes.back().kind < Kind::parked;
      demand(!is_called || model_.may_be_called(offset, with), std::to_string(offset) + " is called before its turn");
    } else {
      continue;
    }
    text += " " + std::to_string(offset) + model_.event(offset).key + " " + text_of(out.outcomes.back().kind);
    if (chance(20)) break;
  }
  if (out.outcomes.empty()) return;
  note(instance.name + " calls" + text);
  instance.calls.push_back(std::move(out));
}

bool OrderInstances::is_called(const Instance& instance, const Lease& lease, std::int64_t offset) {
  return std::any_of(instance.calls.begin(), instance.calls.end(), [&](const Call& call) {
    return call.lease.get() == &lease && std::any_of(call.outcomes.begin(), call.outcomes.end(),
                                                     [&](const auto& each) { return each.offset == offset; });
  });
}

/// An event is called, unless its key is blocked or parked, also by an event of the same call.
OrderModel::Outcome OrderInstances::decide(const Lease& lease, std::int64_t offset, const Call& call) {
  const char key = model_.event(offset).key;
  bool is_parked = model_.is_parked(key);
  bool is_blocked = lease.is_of_lane ? lease.has_failed : key != '-' && model_.is_blocked(key);
  for (const auto& each : call.outcomes) {
    if (key == '-' || model_.event(each.offset).key != key) continue;
    is_parked = is_parked || each.kind == Kind::parks;
    is_blocked = is_blocked || (each.kind == Kind::retry && on_failure_ != config::OnFailure::skip);
  }
  if (is_parked) return {offset, Kind::parked};
  return is_blocked ? OrderModel::Outcome{offset, Kind::waits} : verdict(offset);
}

OrderModel::Outcome OrderInstances::verdict(std::int64_t offset) {
  const int which = is_finishing_ ? 0 : pick(100);
  if (which < 55) return {offset, Kind::done};
  if (which < 82) return {offset, Kind::retry, chance(30) ? OrderModel::Due::now : OrderModel::Due::later};
  const bool parks = on_failure_ == config::OnFailure::park && model_.has_order(offset);
  return {offset, parks ? Kind::parks : Kind::dead};
}

inbox::Settlement OrderInstances::settlement_of(const Call& call) {
  using Dead = inbox::DeadEvent::State;
  inbox::Settlement out;
  out.key = call.lease->key;
  out.is_of_lane = call.lease->is_of_lane;
  out.whole = call.outcomes.size() == call.lease->left.size();
  for (const auto& [offset, kind, due] : call.outcomes) {
    const OrderModel::Event& event = model_.event(offset);
    std::optional<inbox::FailedKey> key;
    if (model_.has_order(offset)) key = inbox::FailedKey{lane_of(event.key), std::string{event.key}};
    const base::Uuid& id = ids_.at(static_cast<std::size_t>(offset));
    event::OffsetSet alone;
    alone.add(offset);
    switch (kind) {
      case Kind::done:
        out.done.add(offset);
        continue;
      case Kind::waits:
        out.waiting.push_back({key->lane, alone, key->key});
        continue;
      case Kind::parked:
        out.dead.push_back({offset, id, Dead::parked, key});
        continue;
      case Kind::retry:
        if (on_failure_ == config::OnFailure::skip) key.reset();
        out.retries.push_back({alone, due == OrderModel::Due::now ? milliseconds{0} : hour, "test: no", key});
        break;
      default:
        out.dead.push_back({offset, id, kind == Kind::parks ? Dead::parks : Dead::dead, key});
    }
    out.failures.push_back({id, event.attempts + 1, "test", "no", milliseconds{1}});
  }
  return out;
}

void OrderInstances::settle(Instance& instance) {
  if (instance.calls.empty()) return;
  const auto at = any_of(instance.calls);
  const Call call = std::move(*at);
  instance.calls.erase(at);
  Lease& lease = *call.lease;
  const auto lost = inbox::settle(inbox_.connection(), instance.id, {settlement_of(call)});
  Offsets offsets;
  for (const auto& each : call.outcomes) offsets.push_back(each.offset);
  note(instance.name + " settles" + text_of(offsets) + (lease.is_lost ? " as a zombie" : ""));
  demand(lost.empty() != lease.is_lost, "a settlement and its lease do not agree");
  if (lease.is_lost) return;
  model_.settle(call.outcomes);
  for (const auto& each : call.outcomes) {
    lease.left.erase(each.offset);
    lease.has_failed = lease.has_failed || each.kind == Kind::retry || each.kind == Kind::parks;
  }
  if (lease.left.empty()) instance.leases.remove(call.lease);
}

void OrderInstances::run_unordered(Instance& instance) {
  const auto due = model_.due_unordered();
  Offsets offsets;
  for (const auto& run : claim_due(inbox_.connection(), handler_, instance.id).runs) {
    Call call{std::make_shared<Lease>(), {}};
    call.lease->key = run.key;
    for (const auto* event : run.events) {
      offsets.push_back(event->offset);
      call.lease->left.insert(event->offset);
      call.outcomes.push_back(verdict(event->offset));
    }
    demand(inbox::settle(inbox_.connection(), instance.id, {settlement_of(call)}).empty(), "a lease was lost");
    model_.settle(call.outcomes);
  }
  std::sort(offsets.begin(), offsets.end());
  if (!offsets.empty()) note("in no order" + text_of(offsets));
  demand(offsets == due, "others than the due retries were claimed");
}

}  // namespace inboxd::support
