#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "unit/simulation/simulated_database.hpp"
#include "unit/simulation/simulated_instance.hpp"

namespace inboxd::test {

/// One step: an actor continues, a fault, or a change by an operator. A step that is not possible does nothing.
struct Step {
  enum class Kind {
    wait,
    wait_long,
    ingest,
    ask,      ///< the claimer continues
    work,     ///< a worker continues
    settle,   ///< the settler continues
    review,
    lose,     ///< the claimer's, the settler's or ingest's next answer
    crash,
    stop,     ///< for some steps
    rebalance,
    pause,    ///< the same
    replay,
    reload,
    restore,
    hold,     ///< a pause of all instances
    resume,
    restart,  ///< of the database server
  };
  Kind kind = Kind::wait;
  std::uint32_t random = 0;
};

struct SimulationSettings {
  int instances = 2;
  int shards = 2;
  config::Handler handler;
  plugin::Instance::Needs needs;  ///< of SQL: workers record outcomes, in transactions
  SimulatedDatabase::Guards guards;
  Trace trace;
};

SimulationSettings settings_of(std::uint64_t seed);
std::vector<Step> steps_of(std::uint64_t seed, std::size_t count);

/// Real queues of several instances on a database in memory, with a virtual clock. One step after the other, so that a
/// list of steps always ends in the same state.
class Simulation final {
 public:
  explicit Simulation(SimulationSettings settings);
  ~Simulation();

  /// Runs all steps, then lets the instances end their work. Returns the broken promise.
  std::optional<std::string> run(const std::vector<Step>& steps);

 private:
  void act(const Step& step);
  void start(std::size_t number);
  void crash(std::size_t number);
  void restart_server();
  SimulatedDatabase& database_for(SimulatedInstance& instance);
  void assign(std::int32_t shard, std::size_t number);
  void ingest(SimulatedInstance& instance, std::uint32_t random, bool may_begin);
  void ask(SimulatedInstance& instance);
  void work(SimulatedInstance& instance, std::size_t number, std::uint32_t random);
  void settle(SimulatedInstance& instance);
  void put_back(SimulatedInstance& instance, std::vector<dispatcher::RunSlice> slices);
  void uncall(const SimulatedInstance::Worker& worker);
  void undo(SimulatedInstance::Worker& worker);
  void commit(SimulatedInstance& instance, SimulatedInstance::Worker& worker);
  void note_settled(SimulatedInstance& instance, const SimulatedInstance::Settling& settled) const;
  void note_call(const SimulatedInstance& instance, SimulatedInstance::Worker& worker);
  bool is_called_elsewhere(const SimulatedInstance& here, const Place& place) const;
  void check_limits(const SimulatedInstance::Worker& worker);
  bool is_time_to_ask(SimulatedInstance& instance) const;
  void pause(SimulatedInstance& instance, bool is_paused);
  void check(const SimulatedInstance& instance);
  void reload(SimulatedInstance& instance);
  bool has_ended() const;
  void end_work();

  SimulationSettings settings_;
  Instant now_{std::chrono::hours{1}};
  SimulatedDatabase database_;
  std::optional<SimulatedDatabase> backup_;
  std::map<std::int32_t, std::size_t> readers_;  ///< of the shards
  std::vector<std::shared_ptr<SimulatedInstance>> instances_;
  int next_owner_ = 1;
  std::int64_t called_ = 0;  ///< events
  std::int64_t restores_ = 0;
  bool is_calm_ = false;  ///< no failures any more
  std::set<CallKey> calls_;
  std::string violation_;
};

}  // namespace inboxd::test
