#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "queue/handler_queue.hpp"
#include "settler/settlement.hpp"
#include "unit/simulation/simulated_database.hpp"
#include "workers/work_batch.hpp"

namespace inboxd::test {

/// A call of an event: delivery, fence and offset.
using CallKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// A process: a queue, its claimer, workers, settler and reader of shards.
struct SimulatedInstance final : settler::RunOwner, std::enable_shared_from_this<SimulatedInstance> {
  static constexpr std::int64_t memory_events = 48;
  static constexpr std::size_t workers = 2;

  SimulatedInstance(int its_owner, const config::Handler& handler, const Instant& clock)
      : owner{its_owner},
        now{clock},
        machine{std::make_unique<dispatcher::HandlerQueue>(
            simulated_handler, handler, std::chrono::milliseconds{200},
            std::make_shared<dispatcher::Budgets>(memory_events, 1'000'000))} {}

  /// Ends a change, as InFlight does.
  void changed() {
    const auto wakes = queue.end_change(now);
    is_claimer_awake = is_claimer_awake || wakes.claimer;
    int workers_to_wake = wakes.all_workers ? static_cast<int>(workers) : wakes.workers;
    for (auto& worker : pool) {
      if (worker.is_asleep && workers_to_wake-- > 0) worker.is_asleep = false;
    }
  }
  int idle_workers() const {
    return static_cast<int>(std::count_if(pool.begin(), pool.end(), [](const auto& each) { return each.is_asleep; }));
  }
  template <class Change>
  void change_hold(Change&& change) {
    queue.admit([&](dispatcher::Admission& admission) { return admission.change_hold(change); });
    changed();
  }
  void recorded(std::int64_t done, std::int64_t failed, const std::string& error_class) override {
    change_hold([&](dispatcher::Hold& hold) { hold.recorded(done, failed, error_class); });
  }
  void settled(const settler::Run& run, std::int64_t events) override {
    queue.settled(run, events, now);
    changed();
  }
  void settled_in_order(const settler::Run& run, const settler::KeyEffects& effects) override {
    queue.settled_in_order(run, effects, now);
    changed();
  }
  void lost(const settler::Run& run, std::int64_t events) override {
    queue.lost(run, events);
    changed();
  }
  void retry_at(Instant due) override {
    queue.retry_at(due);
    changed();
  }
  dispatcher::HandlerQueue::Loaded load(inbox::LeasedRun lease) {
    const auto& settings = queue.state().settings;
    const std::int64_t bytes = dispatcher::bytes_of(lease);
    auto run = std::make_shared<settler::Run>(std::move(lease), settings.policy, shared_from_this(), settings.name);
    if (run->lease.sequence) dispatcher::set_keys(*run, settings.order.get());
    return {std::move(run), bytes};
  }
  void report(std::vector<settler::Report> reports) {
    for (settler::Report& report : reports) {
      if (report.run->lost) {
        lost(*report.run, static_cast<std::int64_t>(report.end - report.first));
        continue;
      }
      add(reported, std::move(report));
    }
  }
  static void add(std::deque<settler::SettlementBuilder>& to, settler::Report report) {
    const auto at = std::find_if(to.begin(), to.end(), [&](const auto& each) { return each.run() == report.run; });
    auto& builder = at == to.end() ? to.emplace_back(report.run) : *at;
    builder.add(std::move(report));
  }

  const int owner;
  const Instant& now;
  std::unique_ptr<dispatcher::HandlerQueue> machine;  ///< none after a crash
  dispatcher::HandlerQueue& queue = *machine;
  std::uint32_t stopped = 0;  ///< for so many steps
  std::uint32_t paused = 0;   ///< the same
  bool loses_answer = false;
  bool meets_other_server = false;  ///< its next statement is the first on that server

  // The claimer, and its open question.
  bool is_claimer_awake = true;
  Instant next_holds{};
  std::optional<dispatcher::Request> request;
  int statements = 0;
  std::optional<dispatcher::Answer> answer;
  Instant asked{};
  Instant calls_asked{};  ///< when it asked for the share of calls that it has
  int calls_granted = 0;

  struct Worker {
    std::optional<dispatcher::WorkBatch> batch;
    bool is_calling = false;
    bool is_asleep = false;  ///< it found no events, and nothing has woken it since
    bool is_on_trial = false;
    /// The events of the running call or transaction; after a change of the mode perhaps an event under two fences.
    std::multimap<Place, CallKey> open;
    std::optional<std::int64_t> version{};  ///< of the order, if the instance had the leases when the call began
    dispatcher::HandlerQueue::Work work;
  };
  std::array<Worker, workers> pool;

  // The settler.
  std::deque<settler::SettlementBuilder> reported;
  struct Settling {
    std::shared_ptr<settler::Run> run;
    settler::RunSettlement settlement;
    std::optional<bool> is_lost{};
    bool was_in_doubt = false;
  };
  std::optional<Settling> settling;

  // Ingest.
  struct Storing {
    SimulatedDatabase::Batch batch;
    consumer::HandOff::InOrder part;
    consumer::HandOff::Reservation room;
    std::optional<std::vector<inbox::LeasedRun>> born{};
    bool is_asked = false;
    bool is_in_doubt = false;
  };
  std::optional<Storing> storing;
  std::map<std::int32_t, std::int64_t> positions;  ///< of its shards
};

}  // namespace inboxd::test
