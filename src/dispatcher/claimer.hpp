#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/log.hpp"
#include "dispatcher/aside.hpp"
#include "dispatcher/deliveries.hpp"
#include "dispatcher/in_hand.hpp"
#include "dispatcher/low_water.hpp"
#include "settler/settler.hpp"
#include "settler/trouble.hpp"

namespace inboxd::dispatcher {

/// The one thread that asks the database on behalf of all handlers: claims what is due where there is room, renews
/// leases, reads low-water marks, gives back. What is in hand comes first, for all handlers, then what they would take.
/// When the database is away it waits and goes on; where it refuses something of one handler, that handler waits.
class Claimer final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    int rows_first = 16;                       ///< a claim looks at so many rows, and doubles it where that was too few
    int rows_most = 2'000;
    std::size_t keys_at_once = 500;            ///< of renewals and of giving back
    std::size_t lost_claims = 100;             ///< remembered of a handler; what others took is found unclean
    std::int32_t last_chances = 3;             ///< so many of a handler's max_crashes a suspect gets alone, see Aside
    Aside::Limits aside;
    std::chrono::milliseconds reading{1'000};  ///< between readings of a low-water mark, where something moves
    std::chrono::milliseconds idle_reading{10'000};
    std::chrono::milliseconds clocks_apart{1'000};  ///< so much more or less than ours the database's may have moved
    std::chrono::milliseconds turn{1'000};     ///< the loop moves at least so often
    /// The statements of a claim, and all renewals, together may take half of the shortest lease that is at stake, so
    /// that it is renewed in time; at least so long, however short that lease is.
    std::chrono::milliseconds shortest_deadline{1'000};
    settler::Trouble::Limits trouble;
  };
  /// All handlers, retired ones included: they may have something to give back.
  using Hands = std::function<std::vector<std::shared_ptr<InHand>>()>;

  Claimer(std::unique_ptr<Deliveries> deliveries, std::shared_ptr<Shared> shared, Hands hands,
          settler::Settler& settler, base::Logger& log, Limits limits);
  ~Claimer();
  Claimer(const Claimer&) = delete;
  Claimer& operator=(const Claimer&) = delete;

  void start();
  /// The thread gives back what has left the handlers' hands, one try, and ends. Claims end earlier: with the handlers.
  void request_stop();
  void join();
  bool is_running() const { return thread_.joinable(); }
  Clock::time_point last_progress() const;

 private:
  /// Whether the database does what is asked of it for one handler, and since when not.
  struct Effort {
    settler::Trouble trouble;
    Clock::time_point again{};  ///< not before then
  };
  /// What is remembered of a handler. The thread's own.
  struct Duty {
    Effort keeping;  ///< what is in hand
    Effort taking;
    int rows = 0;
    bool passed_suspects = false;  ///< the last claim was to take none
    LowWater low_water;
    Clock::time_point next_reading{};
    Clock::time_point last_renewal{};
    std::vector<inbox::LeaseKey> to_give_back;
    std::vector<inbox::LeaseKey> to_skip;
    std::vector<std::int64_t> lost_claims;  ///< fences of those whose answer was lost
    Clock::time_point first_lost{};         ///< when the first of them was asked for
  };

  using Handlers = std::vector<std::shared_ptr<InHand>>;

  void run();
  void serve(Handlers hands);
  void begin_with_next_suspects(Handlers& hands);
  void serve_aside(const Handlers& hands);
  std::int32_t last_chances_after(std::int32_t max_crashes) const;
  void put_aside(InHand& hand, Duty& duty, std::int32_t max_crashes, std::vector<inbox::LeasedRun>& runs);
  void keep_all(const Handlers& hands);
  bool keep(InHand& hand, Duty& duty);
  bool take(InHand& hand, Duty& duty);
  template <class Work>
  void attempt(Effort& effort, Work&& work);
  Duty& duty_of(const InHand& hand);
  static Clock::time_point next_renewal(const InHand& hand, const Duty& duty);
  void limit_statements(const Handlers& hands);
  bool give_back(InHand& hand, Duty& duty);
  bool give_back_claims(InHand& hand, Duty& duty);
  bool skip(Duty& duty);
  bool renew(InHand& hand, Duty& duty);
  bool renew(InHand& hand, const std::vector<std::shared_ptr<settler::Run>>& runs, std::chrono::milliseconds lease);
  bool read_low_water(InHand& hand, Duty& duty);
  bool claim(InHand& hand, Duty& duty);
  inbox::ClaimRequest request_for(std::int32_t handler_id, const InHand::Wish& wish, Duty& duty, Clock::time_point now);
  void note_lost_claim(Duty& duty, std::int64_t fence, Clock::time_point asked);
  std::vector<inbox::LeasedRun> without_crashed(InHand& hand, std::int32_t max_crashes,
                                                std::vector<inbox::LeasedRun> runs);
  void adapt_rows(Duty& duty, int asked, int locked, bool events_reached);
  Clock::time_point next_turn(Clock::time_point now);
  bool is_blocked() const { return Clock::now() < blocked_until_; }
  bool worked(const inbox::DatabaseFailure* failure);
  void progress();

  template <class T>
  bool worked(const settler::Answer<T>& answer) {
    return worked(std::get_if<inbox::DatabaseFailure>(&answer));
  }

  const std::unique_ptr<Deliveries> deliveries_;
  const std::shared_ptr<Shared> shared_;
  const Hands hands_;
  settler::Settler& settler_;
  base::Logger& log_;
  const Limits limits_;
  std::atomic<bool> stopping_{false};
  std::atomic<Clock::rep> progress_{0};

  // The thread's own.
  std::unordered_map<std::int32_t, Duty> duties_;
  int generation_ = 0;
  settler::Trouble trouble_;  ///< with the connection, for all handlers
  Clock::time_point blocked_until_{};
  std::optional<inbox::DatabaseFailure> refused_;  ///< of the last thing asked for one handler
  Clock::time_point next_renewals_{};
  bool takes_suspects_ = true;        ///< in this round: none was in hand when it began
  std::int32_t last_suspect_of_ = 0;  ///< the handler
  Aside aside_;

  std::thread thread_;
};

}  // namespace inboxd::dispatcher
