#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inbox/settle.hpp"
#include "queue/requests.hpp"
#include "unit/simulation/trace.hpp"

/// The database as handlers see it, in memory: one handler, with the conditions of the statements in sql/.
namespace inboxd::test {

using Instant = std::chrono::steady_clock::time_point;
/// Shard and offset.
using Place = std::pair<std::int32_t, std::int64_t>;
constexpr std::int32_t simulated_handler = 7;

event::Microseconds microseconds(Instant time);
/// The key of an event; 0: it has none.
int key_of(const Place& place);

struct SimulatedDatabase {
  struct Row {
    std::int32_t shard = 0;
    std::optional<std::int32_t> sequence{};
    std::int64_t ordinal = 0;
    std::optional<std::int64_t> lane{};
    std::set<std::int64_t> pending{};
    std::int32_t attempts = 0;
    std::int32_t claims = 0;
    int owner = 0;  ///< 0: not leased
    std::int64_t fence = 0;
    Instant due{};  ///< without a sequence: the end of its lease
    bool was_deferred = false;
    Instant received{};
  };
  struct Owned {
    int owner = 0;
    std::int64_t fence = 0;
    Instant leased_until{};
    int wanted_by = 0;
  };
  struct DeadLetter {
    Row row;  ///< of this event
    bool parks = false;
    bool is_parked = false;
  };
  /// Of all instances.
  struct Pause {
    bool is_paused = false;
    bool has_blown = false;  ///< by the fuse
    bool is_trying = false;
    int trial_owner = 0;
    Instant trial_until{};
  };
  /// The last one that closed.
  struct Window {
    bool is_running = false;
    Instant closed_at = Instant::min();
    Instant decided_until{};
    std::int64_t last_ordinal = 0;
    std::int64_t events = 0;
  };
  struct CallShare {
    int calls = 0;
    int wanted = 0;
    Instant served_at{};
    Instant leased_until{};
  };
  /// What it checks. A test switches one off to see that the simulation notices.
  struct Guards {
    bool compares_fences = true;
  };

  // Ingest, of one shard's events. The born rows; nullopt: nothing is stored.
  struct Batch {
    std::int32_t shard = 0;
    std::int64_t expected = 0;
    std::int64_t next = 0;
    std::int64_t version = 0;  ///< of the routing
    std::optional<std::int32_t> sequence{};
    std::int64_t sequence_fence = 0;
    std::int64_t leased = 0;  ///< of its events
    std::int64_t fence = 0;
    std::chrono::milliseconds lease{0};
  };
  std::optional<std::vector<inbox::LeasedRun>> ingest(int owner, const Batch& batch, Instant now);
  void release_born(int owner, std::int64_t fence, Instant now);

  /// One statement of a question; nullopt: another one follows, which sees later changes.
  std::optional<dispatcher::Answer> ask(int owner, const dispatcher::Request& request, int statement, Instant now);
  /// One transaction. The lost leases; nothing happens if there are any.
  std::vector<inbox::LeaseKey> settle(int owner, const std::vector<inbox::Settlement>& all, Instant now);

  /// Before the first statement of a process on another server.
  void change_fences(int owner);

  // Operators.
  void replay(const Place& place, Instant now);
  void change_order(const std::string& to, Instant now);
  void resume();
  void order_by_offset();
  std::optional<std::int32_t> sequence_of(std::int32_t shard) const;
  bool owns(int owner, const inbox::LeasedRun& run) const;
  /// Also if their fences were changed.
  bool owns_row_and_sequence(int owner, const inbox::LeasedRun& run) const;

  /// The rows of a sequence before an event of its key that has no outcome.
  std::optional<Place> earlier_of_key(const Place& place) const;

  void trace_row(std::int64_t id) const;
  void trace_order() const;

  Trace trace;
  std::string order;  ///< config::order_text
  Guards guards;
  std::int64_t version = 1;
  std::int64_t next_id = 1;
  std::int64_t next_fence = 1;
  std::uint64_t snapshots = 1;
  std::map<std::int64_t, Row> rows;
  std::map<std::int32_t, Owned> sequences;
  std::map<std::int32_t, std::int64_t> positions;
  std::map<std::int32_t, std::int64_t> read_positions;  ///< by the statement before
  std::vector<inbox::Lane> checked;                     ///< the same
  std::map<Place, DeadLetter> dead;
  Pause pause;
  Window window;
  Instant spent_until{};  ///< tokens of `rate`
  std::map<int, CallShare> shares;
  std::map<Place, int> outcomes;             ///< their number
  std::map<Place, std::set<Place>> behind;   ///< by replayed event: those that were leased then
  std::vector<Place> done_in_order;          ///< by the transaction
  std::string violation;

  // Statements.
  void write_hold(int owner, const inbox::HoldNews& news);
  inbox::HandlerHold::State read_hold(int owner, const dispatcher::ReadHolds& it, Instant now);
  inbox::Tokens take_tokens(const dispatcher::TakeTokens& it, Instant now);
  bool is_in_window(const Row& row) const;
  inbox::WindowTurn turn_window(int owner, const inbox::WindowPlan& plan, Instant now);
  inbox::ClaimedInOrder claim_window(int owner, const inbox::ClaimInOrderRequest& it);
  int share_calls(int owner, const inbox::CallsRequest& it, Instant now);
  std::int64_t renew(int owner, const dispatcher::RenewLeases& it, Instant now);
  void release(Row& row, Instant now);
  std::vector<std::int32_t> take(int owner, const dispatcher::TakeSequences& it, Instant now);
  std::vector<inbox::Lane> lanes_of(const dispatcher::ReadLanes& it) const;
  dispatcher::Claim::Result claim(int owner, const inbox::ClaimRequest& it, Instant now);
  inbox::ClaimedInOrder claim_in_order(int owner, const inbox::ClaimInOrderRequest& it, Instant now);
  inbox::LeasedRun lease(std::int64_t id, int owner, std::int64_t fence, std::int64_t events, Instant due);
  bool may_settle(int owner, const inbox::Settlement& settlement) const;
  void settle(const inbox::Settlement& settlement, Instant now);
  std::vector<std::int64_t> in_order(std::int32_t sequence, std::optional<std::int64_t> lane) const;
  void advance(std::int32_t sequence, std::int64_t lane, Instant now);
  bool is_parked(const Row& of, std::int64_t lane) const;
  void record(const Row& row, std::int64_t offset, bool is_done);
};

}  // namespace inboxd::test
