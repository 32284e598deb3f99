// Random operations on one sequence: its log, its rows in the database, workers with batches, a settler and a claimer.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

#include "queue/key_order.hpp"
#include "settler/settlement.hpp"
#include "unit/queue/keyed_runs.hpp"
#include "workers/work_batch.hpp"

namespace inboxd::dispatcher {
namespace {

using config::OnFailure;
using event::Verdict;
using std::chrono::milliseconds;
using Run = std::shared_ptr<settler::Run>;

struct Options {
  OnFailure on_failure = OnFailure::block;
  int keys = 4;
  std::size_t events_per_call = 1;
  int max_attempts = 3;
  bool has_slow_keys = false;   ///< some become blocked without a failure
  bool in_transaction = false;  ///< workers record the outcomes of their calls
};

/// What the daemon and the database do with one sequence, step by step. A failed check throws, with the history.
class Model {
 public:
  Model(std::uint64_t seed, Options options) : options_{options}, random_{seed} {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step(false);
    // Then everything comes to an end, without further events and takeovers.
    for (int i = 0; i < 200'000 && !all_final(); ++i) step(true);
    demand(all_final(), "events are forgotten");
    demand(!keys_.any_deferred() && !keys_.any_behind(), "the memory still has events");
    demand(rows_.empty(), "the database still has rows");
  }

 private:
  struct Event {
    envelope::KeyHash key = 0;
    bool is_final = false;  ///< its outcome is recorded, or it is retried in no order
  };
  /// A delivery. Ordered by place: ordinal, first offset.
  struct Row {
    std::int64_t id = 0;
    std::int64_t ordinal = 0;
    std::set<std::int64_t> offsets;
    std::optional<std::int64_t> lane;
    int attempts = 0;
    bool is_due = true;  ///< of a lane
    Run lease;
  };
  struct ParkedEvent {
    std::int64_t lane = 0, offset = 0;
    Row from;
  };
  struct Worker {
    WorkBatch batch;
    std::vector<std::int64_t> call;     ///< offsets of the running call
    std::set<std::int64_t> open_calls;  ///< those of the calls before it in the same transaction
    bool is_calling = false;
    bool has_batch = false;
  };

  int pick(int count) { return std::uniform_int_distribution<int>{0, count - 1}(random_); }
  bool chance(int percent) { return pick(100) < percent; }

  void note(const std::string& text) {
    history_.push_back(text);
    if (history_.size() > 60) history_.pop_front();
  }
  void demand(bool holds, const std::string& complaint) {
    if (holds) return;
    std::ostringstream all;
    for (const auto& line : history_) all << line << "\n";
    FAIL(complaint << "; the last steps:\n" << all.str());
  }
  static std::string text_of(const std::vector<std::int64_t>& offsets) {
    std::string out;
    for (const auto offset : offsets) out += " " + std::to_string(offset);
    return out;
  }

  bool all_final() const {
    return std::all_of(log_.begin(), log_.end(), [](const Event& event) { return event.is_final; });
  }

  void step(bool is_ending) {
    switch (pick(is_ending ? 12 : 16)) {
      case 0:
      case 1:
        return claim();
      case 2:
      case 3:
      case 4:
        return take(workers_[static_cast<std::size_t>(pick(3))]);
      case 5:
      case 6:
      case 7:
        return proceed(workers_[static_cast<std::size_t>(pick(3))]);
      case 8:
        return notify();
      case 9:
        return commit();
      case 10:
        return ask();
      case 11:
        return answer();
      case 12:
      case 13:
      case 14:
        return store();
      default:
        if (chance(5)) take_over();
        if (chance(10)) release();
        if (options_.has_slow_keys && chance(20)) keys_.block_slow_keys(static_cast<std::size_t>(pick(3)));
        return;
    }
  }

  // ---- ingest and the database

  void store() {
    Row row;
    row.id = row.ordinal = ++last_id_;
    for (int i = 1 + pick(6); i > 0; --i) {
      row.offsets.insert(static_cast<std::int64_t>(log_.size()));
      log_.push_back({pick(options_.keys + 1)});  // key 0: none
    }
    rows_.push_back(std::move(row));
  }

  static auto place_of(const Row& row) { return std::pair{row.ordinal, *row.offsets.begin()}; }

  /// The first row of a lane, or of the log (nullopt).
  std::vector<Row>::iterator first_of(std::optional<std::int64_t> lane, bool only_free) {
    auto first = rows_.end();
    for (auto at = rows_.begin(); at != rows_.end(); ++at) {
      if (at->lane != lane || (only_free && at->lease)) continue;
      if (first == rows_.end() || place_of(*at) < place_of(*first)) first = at;
    }
    return first;
  }

  void advance(std::int64_t lane) {
    const auto first = first_of(lane, false);
    if (first != rows_.end() && !first->lease) first->is_due = true;
  }

  std::set<std::int64_t> lanes() const {
    std::set<std::int64_t> out;
    for (const Row& row : rows_) {
      if (row.lane) out.insert(*row.lane);
    }
    return out;
  }

  void lease(Row& row) {
    test::KeyedRun from;
    from.offsets.assign(row.offsets.begin(), row.offsets.end());
    for (const auto offset : from.offsets) from.keys.push_back(log_[static_cast<std::size_t>(offset)].key);
    from.delivery_id = row.id;
    from.ordinal = row.ordinal;
    from.lane = row.lane;
    from.attempts = row.attempts;
    from.on_failure = options_.on_failure;
    from.max_attempts = options_.max_attempts;
    row.lease = test::run_in_order(from);
    queue_.push_back({row.lease, 0, row.lease->size()});
    note("claimed" + text_of(from.offsets) + (row.lane ? " of lane " + std::to_string(*row.lane) : ""));
  }

  void claim() {
    for (const std::int64_t lane : lanes()) {
      const auto first = first_of(lane, false);
      if (first->lease || !first->is_due || chance(50)) continue;
      keys_.block({test::sequence_of_runs, lane, true, false});
      lease(*first);
    }
    for (int i = pick(4); i > 0; --i) {
      const auto next = first_of(std::nullopt, true);
      if (next == rows_.end()) return;
      const bool is_cut = next->offsets.size() > 1 && chance(20);
      if (is_cut) {
        Row rest = *next;
        rest.id = ++last_id_;
        rest.offsets.erase(rest.offsets.begin());
        next->offsets = {*next->offsets.begin()};
        lease(*next);
        rows_.push_back(std::move(rest));
      } else {
        lease(*next);
      }
    }
  }

  void ask() {
    if (!asked_.empty()) return;
    asked_ = keys_.to_check(1 + static_cast<std::size_t>(pick(5)));
    for (inbox::Lane& lane : asked_) {
      lane.has_events = lanes().contains(lane.lane);
      lane.is_parked = parked_.contains(lane.lane);
    }
  }
  void answer() { keys_.checked(std::exchange(asked_, {})); }

  /// An operator releases a parked key: its parked events wait in the lane again, behind those that are leased.
  void release() {
    if (parked_.empty()) return;
    const std::int64_t lane = *parked_.begin();
    if (std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.lane == lane && row.lease; })) return;
    parked_.erase(lane);
    note("released lane " + std::to_string(lane));
    for (const ParkedEvent& each : parked_events_) {
      if (each.lane != lane) continue;
      log_[static_cast<std::size_t>(each.offset)].is_final = false;
      add_to_lane(each.from, lane, {each.offset}, 0, false);
    }
    std::erase_if(parked_events_, [&](const ParkedEvent& each) { return each.lane == lane; });
    if (lanes().contains(lane)) advance(lane);
  }

  /// Another owner of the same name: all leases end, and nothing in memory counts.
  void take_over() {
    note("taken over");
    keys_.forget(test::sequence_of_runs);
    queue_.clear();
    reports_.clear();
    committed_.clear();
    asked_.clear();
    for (Worker& worker : workers_) worker = {};
    for (Row& row : rows_) {
      if (row.lease && row.lane) row.is_due = true;
      row.lease = nullptr;
    }
    for (const std::int64_t lane : lanes()) keys_.block({test::sequence_of_runs, lane, true, parked_.contains(lane)});
    for (const std::int64_t lane : parked_) keys_.block({test::sequence_of_runs, lane, false, true});
  }

  // ---- workers

  void take(Worker& worker) {
    if (worker.has_batch) return;
    if (keys_.any_behind()) {
      for (settler::Report& report : keys_.take_behind()) reports_.push_back(std::move(report));
      return;
    }
    std::vector<RunSlice> slices;
    std::size_t in_call = 0;
    int left = 1 + pick(6);
    ++call_;
    const auto add = [&](const Pick& pick) {
      const bool begins_call = in_call == 0 && !options_.in_transaction;
      RunSlice* const last = slices.empty() || begins_call ? nullptr : &slices.back();
      if (last != nullptr && last->run == pick.run && last->end == pick.index && last->one_by_one == pick.one_by_one) {
        ++last->end;
      } else {
        slices.push_back({pick.run, pick.index, pick.index + 1, pick.one_by_one, begins_call});
      }
      --left;
      ++in_call;
      if (options_.in_transaction || (in_call < options_.events_per_call && !pick.one_by_one)) return;
      ++call_;
      in_call = 0;
    };
    while (left > 0 && keys_.any_ready()) {
      const std::size_t most = options_.in_transaction ? 6 : options_.events_per_call - in_call;
      for (const Pick& pick : keys_.take_ready(most, call_, options_.in_transaction)) add(pick);
    }
    while (left > 0 && !queue_.empty()) {
      RunSlice& slice = queue_.front();
      if (slice.one_by_one && in_call > 0 && !options_.in_transaction) {
        ++call_;
        in_call = 0;
      }
      const Pick pick{slice.run, slice.first++, slice.one_by_one};
      if (slice.first == slice.end) queue_.pop_front();
      if (keys_.take(pick, call_, options_.in_transaction)) add(pick);
    }
    if (slices.empty()) return;
    worker.batch = WorkBatch{std::move(slices)};
    worker.has_batch = true;
  }

  void put_back(std::vector<RunSlice> slices) {
    std::vector<Pick> picks;
    for (const RunSlice& slice : slices) {
      for (std::size_t i = slice.first; i < slice.end; ++i) {
        note("put back " + std::to_string(slice.run->lease.events[i]->offset));
        if (slice.run->keys[i] == envelope::no_order_key) {
          queue_.push_front({slice.run, i, i + 1, slice.one_by_one});
        } else {
          picks.push_back({slice.run, i, slice.one_by_one});
        }
      }
    }
    keys_.put_back(picks);
  }

  void begin_call(Worker& worker) {
    worker.is_calling = worker.batch.begin_call(options_.events_per_call);
    if (!worker.is_calling) {
      report(worker.batch.take_finished());
      put_back(worker.batch.take_rest());
      worker = {};
      return;
    }
    std::vector<plugin::Delivered> events;
    worker.batch.deliver(events);
    worker.call.clear();
    for (const auto& each : events) worker.call.push_back(each.event->offset);
    note("called" + text_of(worker.call));
    check_order(worker.call, worker.open_calls);
  }

  /// The promise: an event is called once all earlier ones of its key have an outcome, or in the same call behind them.
  void check_order(const std::vector<std::int64_t>& call, std::set<std::int64_t> before) {
    for (const std::int64_t offset : call) {
      const Event& event = log_[static_cast<std::size_t>(offset)];
      demand(!event.is_final, "an event is called after its outcome: " + std::to_string(offset));
      demand(before.insert(offset).second, "an event is twice in a call");
      for (const Worker& other : workers_) {
        const bool is_there =
            &other.call != &call && std::find(other.call.begin(), other.call.end(), offset) != other.call.end();
        demand(!other.is_calling || !is_there, "an event is in two calls: " + std::to_string(offset));
      }
      if (event.key == envelope::no_order_key) continue;
      demand(!parked_.contains(event.key), "an event is called although its key is parked: " + std::to_string(offset));
      for (std::int64_t earlier = 0; earlier < offset; ++earlier) {
        const Event& each = log_[static_cast<std::size_t>(earlier)];
        if (each.key != event.key || each.is_final || before.contains(earlier)) continue;
        demand(false, std::to_string(offset) + " is called before the outcome of " + std::to_string(earlier));
      }
      if (options_.on_failure == OnFailure::skip) continue;
      for (std::size_t later = static_cast<std::size_t>(offset); later < log_.size(); ++later) {
        const bool is_behind = log_[later].key == event.key && log_[later].is_final;
        demand(!is_behind, std::to_string(offset) + " is called after the outcome of " + std::to_string(later));
      }
    }
  }

  Verdict verdict() {
    const int of = pick(100);
    if (of < 75) return {};
    if (of < 95) return {Verdict::Kind::retry, std::nullopt, "timeout", "late"};
    return {Verdict::Kind::dead, std::nullopt, "bad", "bad"};
  }

  void proceed(Worker& worker) {
    if (!worker.has_batch) return;
    // The overseer takes the rest, or the finished events, away from a worker.
    if (chance(5)) put_back(worker.batch.take_rest());
    if (chance(10) && !(options_.in_transaction && worker.is_calling)) {
      report(worker.batch.take_finished());
      worker.open_calls.clear();
    }
    if (!worker.is_calling) return begin_call(worker);
    std::vector<Verdict> verdicts;
    for (std::size_t i = 0; i < worker.call.size(); ++i) verdicts.push_back(verdict());
    auto cancelled = WorkBatch::Cancelled::failed;
    if (chance(10)) {
      cancelled = chance(50) ? WorkBatch::Cancelled::interrupted : WorkBatch::Cancelled::one_by_one;
      for (Verdict& each : verdicts) {
        if (chance(40)) each = {Verdict::Kind::retry, std::nullopt, "cancelled", ""};
      }
    }
    worker.batch.end_call(std::move(verdicts), milliseconds{1}, cancelled);
    worker.is_calling = false;
    if (options_.in_transaction) worker.open_calls.insert(worker.call.begin(), worker.call.end());
    worker.call.clear();
  }

  // ---- the settler

  struct Committed {
    Run run;
    settler::KeyEffects effects;
  };

  void commit() {
    if (!committed_.empty() || reports_.empty()) return;
    std::vector<settler::SettlementBuilder> builders;
    std::vector<settler::Report> later;
    std::map<const settler::Run*, bool> is_later;
    for (settler::Report& report : std::exchange(reports_, {})) {
      if (is_later.try_emplace(report.run.get(), chance(40)).first->second) {
        later.push_back(std::move(report));
        continue;
      }
      add_to(builders, std::move(report));
    }
    reports_ = std::move(later);
    committed_ = record(builders);
  }

  /// One transaction.
  std::vector<Committed> record(std::vector<settler::SettlementBuilder>& builders) {
    std::vector<Committed> out;
    std::set<std::int64_t> touched;
    for (settler::SettlementBuilder& builder : builders) {
      settler::RunSettlement settlement = builder.take(0.5);
      settle(builder.run(), settlement.settlement, touched);
      builder.run()->recorded += static_cast<std::size_t>(settlement.counts.events());
      out.push_back({builder.run(), std::move(settlement.keys)});
    }
    for (const std::int64_t lane : touched) advance(lane);
    return out;
  }

  /// Of a worker: for the settler or, in a transaction, recorded at once.
  void report(std::vector<settler::Report> reports) {
    std::vector<settler::SettlementBuilder> builders;
    for (settler::Report& each : reports) {
      if (options_.in_transaction) {
        add_to(builders, std::move(each));
      } else {
        reports_.push_back(std::move(each));
      }
    }
    for (const Committed& each : record(builders)) keys_.settled(*each.run, each.effects);
  }

  static void add_to(std::vector<settler::SettlementBuilder>& builders, settler::Report report) {
    auto at = std::find_if(builders.begin(), builders.end(),
                           [&](const settler::SettlementBuilder& each) { return each.run() == report.run; });
    if (at == builders.end()) at = builders.emplace(at, report.run);
    at->add(std::move(report));
  }

  void end(std::int64_t offset) {
    Event& event = log_[static_cast<std::size_t>(offset)];
    demand(!event.is_final, "an event has two outcomes: " + std::to_string(offset));
    event.is_final = true;
  }

  void add_to_lane(const Row& from, std::int64_t lane, std::set<std::int64_t> offsets, int attempts, bool is_due) {
    rows_.push_back({++last_id_, from.ordinal, std::move(offsets), lane, attempts, is_due, nullptr});
  }

  static std::set<std::int64_t> all_of(const event::OffsetSet& offsets) {
    std::set<std::int64_t> out;
    for (const auto& range : offsets.ranges()) {
      for (auto offset = range.first; offset < range.end; ++offset) out.insert(offset);
    }
    return out;
  }

  /// As inbox.settle.
  void settle(const Run& run, const inbox::Settlement& settlement, std::set<std::int64_t>& touched) {
    const auto at = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.lease == run; });
    demand(at != rows_.end(), "a lease is lost");
    const std::int64_t id = at->id;
    const Row from = *at;
    std::set<std::int64_t> settled;
    const auto leave = [&](const std::set<std::int64_t>& offsets) {
      for (const std::int64_t offset : offsets) {
        demand(from.offsets.contains(offset) && settled.insert(offset).second, "an event is settled twice");
      }
      return offsets;
    };
    for (const std::int64_t offset : leave(all_of(settlement.done))) {
      note("done " + std::to_string(offset));
      end(offset);
    }
    for (const inbox::RetryGroup& group : settlement.retries) {
      const auto offsets = leave(all_of(group.offsets));
      note("retry" + text_of({offsets.begin(), offsets.end()}));
      if (group.key) {
        demand(offsets.size() == 1, "a lane's event has a row of its own");
        add_to_lane(from, group.key->lane, offsets, from.attempts + 1, true);
      } else {
        for (const std::int64_t offset : offsets) end(offset);
      }
    }
    for (const inbox::DeadEvent& dead : settlement.dead) {
      using State = inbox::DeadEvent::State;
      leave({dead.offset});
      note((dead.state == State::parked ? "parked " : "dead ") + std::to_string(dead.offset));
      if (dead.state == State::parks) parked_.insert(dead.key->lane);
    }
    for (const inbox::DeadEvent& dead : settlement.dead) {
      if (dead.state != inbox::DeadEvent::State::parked || parked_.contains(dead.key->lane)) {
        end(dead.offset);
        if (dead.state == inbox::DeadEvent::State::parked)
          parked_events_.push_back({dead.key->lane, dead.offset, from});
      } else {
        add_to_lane(from, dead.key->lane, {dead.offset}, 0, false);
        touched.insert(dead.key->lane);
      }
    }
    for (const inbox::WaitingEvents& waiting : settlement.waiting) {
      const auto offsets = leave(all_of(waiting.offsets));
      note("waits" + text_of({offsets.begin(), offsets.end()}));
      add_to_lane(from, waiting.lane, offsets, 0, false);
      touched.insert(waiting.lane);
    }
    if (from.lane) touched.insert(*from.lane);
    const auto now = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.id == id; });
    for (const std::int64_t offset : settled) now->offsets.erase(offset);
    if (now->offsets.empty()) rows_.erase(now);
  }

  /// The memory learns what was committed, maybe long after the commit.
  void notify() {
    for (const Committed& each : std::exchange(committed_, {})) keys_.settled(*each.run, each.effects);
  }

  const Options options_;
  std::mt19937_64 random_;
  std::deque<std::string> history_;
  std::vector<Event> log_;
  std::vector<Row> rows_;
  std::set<std::int64_t> parked_;
  std::vector<ParkedEvent> parked_events_;
  std::int64_t last_id_ = 0;
  KeyOrder keys_;
  KeyOrder::Call call_ = 0;
  std::deque<RunSlice> queue_;
  std::array<Worker, 3> workers_;
  std::vector<settler::Report> reports_;
  std::vector<Committed> committed_;
  std::vector<inbox::Lane> asked_;
};

/// Few and short, because the sanitizers slow them down. Every run has another seed.
#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t models = 2;  // a model runs on one thread, fifty times slower
#else
constexpr std::uint64_t models = 20;
#endif
constexpr int steps = 700;

void run_models(Options options) {
  const auto seed = static_cast<std::uint64_t>(Catch::getSeed());
  for (std::uint64_t i = 0; i < models; ++i) {
    options.keys = 1 + static_cast<int>(i % 5);
    options.events_per_call = 1 + i % 3;
    options.max_attempts = 1 + static_cast<int>(i % 4);
    INFO("seed " << seed << ", model " << i);
    Model{seed * 1'000 + i, options}.run(steps);
  }
}

}  // namespace

TEST_CASE("whatever happens, the events of a key are called in order, and each gets one outcome") {
  Options options;
  options.in_transaction = GENERATE(false, true);
  options.has_slow_keys = GENERATE(false, true);
  SECTION("a failure blocks its key") { options.on_failure = OnFailure::block; }
  SECTION("a dead letter parks its key") { options.on_failure = OnFailure::park; }
  SECTION("a failure is skipped") { options.on_failure = OnFailure::skip; }
  run_models(options);
}

}  // namespace inboxd::dispatcher
