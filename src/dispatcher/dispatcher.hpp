#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "base/loop.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "consumer/hand_off.hpp"
#include "dispatcher/claimer.hpp"
#include "dispatcher/crew.hpp"
#include "dispatcher/deliveries.hpp"
#include "dispatcher/in_hand.hpp"
#include "dispatcher/retirement.hpp"
#include "inbox/handlers.hpp"
#include "inbox/watchdog.hpp"
#include "plugin/plugin.hpp"
#include "settler/settler.hpp"

namespace inboxd::dispatcher {

/// A handler that this process runs.
struct HandlerSetup {
  std::int32_t handler_id = 0;
  config::Handler settings;
  std::unique_ptr<plugin::Instance> instance;
  bool paused = false;
  inbox::Registered registered{};              ///< as the database knows it, should it forget
};

/// Has handlers work through their deliveries: takes in hand what was born leased (HandOff) and what is due in the
/// database, has it called, and reports to the settler. A service: one thread for the database (claimer), one that
/// looks after calls (overseer), `concurrency` workers a handler.
///
/// The settler must outlive it and be stopped after it.
class Dispatcher final : public consumer::HandOff {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    WatchLimits watch;
    Claimer::Limits claimer;
    std::chrono::milliseconds review{25};       ///< between two looks at the running calls
    std::chrono::milliseconds calm{200};        ///< the same where nothing is in hand
    std::chrono::milliseconds last_call{500};   ///< after the shutdown's deadline, for calls to notice that they end
    std::chrono::milliseconds destroy{10'000};  ///< a plugin whose instance takes longer to end is told of
    std::chrono::milliseconds flush{5'000};     ///< at shutdown, for the settler to record what was finished
    std::chrono::milliseconds overtime{2'000};  ///< that recording ends so long after the shutdown's deadline at most
  };

  Dispatcher(const config::Dispatch& settings, const config::Database& database, base::Uuid owner,
             inbox::Watchdog& watchdog, settler::Settler& settler, base::Logger& log);
  /// `transactions`: for handlers that need SQL.
  Dispatcher(const config::Dispatch& settings, std::unique_ptr<Deliveries> deliveries, settler::Settler& settler,
             base::Logger& log, Limits limits, inbox::TransactionFactory transactions = {});
  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// The handlers from now on. Those that go on keep what they have in hand; running calls end with the old instance;
  /// what the others have queued is given back. Waits for no plugin. Before or after `start`; one thread at a time.
  void replace_handlers(std::vector<HandlerSetup> handlers);
  /// Ends instances of a configuration that is not to be, without waiting for them. Any thread.
  void discard(std::vector<HandlerSetup> handlers);
  /// Takes nothing more for the handler and gives back what is queued, or goes on.
  void set_paused(std::int32_t handler_id, bool paused);

  void start();
  /// Nothing more is taken in hand and no call begins; what is queued is given back.
  void request_stop();
  /// Running calls may finish until the deadline, then they are told to; those that do not return are left to
  /// themselves, uncharged, and so are plugins that do not end their instances. Waits until the settler has recorded
  /// what was finished and the rest is given back, bounded by Limits and one statement's deadline.
  void join(Clock::time_point deadline);

  Room reserve(std::int32_t handler_id, std::int64_t events, std::size_t bytes) override;
  void hand_over(inbox::LeasedRun run, std::int64_t reserved) override;
  void release(std::int32_t handler_id, std::int64_t events) override;
  void born_due(std::int32_t handler_id) override;

  /// All zero for a handler that it does not know.
  Stats stats(std::int32_t handler_id) const;
  /// Nothing in hand, nothing expected, no backlog known; says nothing of other instances.
  bool idle() const;
  /// Whether threads are left in calls, or ends of instances, that were given up: what they use must not be destroyed.
  bool has_left_calls() const { return worker_ends_->left > 0; }
  /// The overseer and the claimer.
  std::vector<base::Loop> loops() const;

 private:
  std::shared_ptr<InHand> find(std::int32_t handler_id) const;
  std::vector<std::shared_ptr<InHand>> all_in_hand() const;
  std::shared_ptr<InHand> prepare(const HandlerSetup& handler);
  void oversee();
  void review_crews();
  std::chrono::milliseconds until_review();
  bool crews_have_ended();
  void wait_for_crews(Clock::time_point until);
  void retire(std::vector<std::unique_ptr<Crew>> crews);
  void give_up_crews();
  void end_claimer(Clock::time_point deadline);
  void progress();

  const config::Dispatch settings_;
  settler::Settler& settler_;
  base::Logger& log_;
  const Limits limits_;
  const inbox::TransactionFactory transactions_;
  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<Ends> worker_ends_ = std::make_shared<Ends>();
  std::atomic<Clock::rep> progress_{0};

  mutable std::shared_mutex in_hand_mutex_;    // guards the following; ingest threads read
  std::map<std::int32_t, std::shared_ptr<InHand>> in_hand_;

  mutable std::mutex crews_mutex_;             // guards the following
  std::map<std::int32_t, std::unique_ptr<Crew>> crews_;
  std::vector<std::unique_ptr<Crew>> leaving_; ///< replaced ones whose calls still run
  bool started_ = false;
  bool stopping_ = false;

  Retirement retirement_{worker_ends_};
  std::atomic<bool> overseer_stops_{false};
  Bell overseer_bell_;
  Claimer claimer_;
  std::thread overseer_;
};

}  // namespace inboxd::dispatcher
