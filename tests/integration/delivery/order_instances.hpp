#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <list>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "integration/delivery/order_model.hpp"
#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// Two instances, which never own a sequence together, in a real database and in the model. Each step is taken in both;
/// a difference fails the test with the last steps.
class OrderInstances {
 public:
  OrderInstances(std::uint64_t seed, config::OnFailure on_failure);

 protected:
  using Offsets = std::vector<std::int64_t>;
  struct Lease {
    inbox::LeaseKey key;
    std::set<std::int64_t> left;
    std::int64_t ordinal = 0;
    std::int64_t last = 0;  ///< offset, as it was claimed
    bool is_of_lane = false;
    bool has_failed = false;  ///< an event of the lane
    bool is_lost = false;
  };
  /// Outcomes of some events of a lease that were decided and are not recorded yet.
  struct Call {
    std::shared_ptr<Lease> lease;
    std::vector<OrderModel::Outcome> outcomes;
  };
  struct Instance {
    std::string name;
    base::Uuid id = base::random_uuid();
    std::int64_t fence = 0;
    std::list<std::shared_ptr<Lease>> leases{};
    std::list<Call> calls{};
    bool is_in_doubt = false;  ///< a claim had no answer, or it crashed: the sequence must be taken again
  };

  // ---- steps
  void store(Instance& instance);
  void take(Instance& instance);
  /// The owner's process ends, or hangs with its calls. Its lease ends.
  void crash();
  void claim(Instance& instance);
  /// Decides on some events of a lease: in their order, each after the outcomes of all earlier events of its key.
  void call(Instance& instance);
  void settle(Instance& instance);
  void release(Instance& instance);
  /// Retries in no order: claimed and settled in a single step.
  void run_unordered(Instance& instance);

  /// After an operator's replay or release, which put events back into lanes or not. The owner does not know.
  void note_replay(bool has_put_back);

  // ---- helpers
  Database& database() { return inbox_.database(); }
  int pick(int count) { return std::uniform_int_distribution<int>{0, count - 1}(random_); }
  bool chance(int percent) { return pick(100) < percent; }
  template <class Container>
  auto any_of(Container& all) {
    return std::next(all.begin(), pick(static_cast<int>(all.size())));
  }
  int events() const { return static_cast<int>(model_.events().size()); }
  static char key_at(int number) { return number == 0 ? '-' : static_cast<char>('a' + number - 1); }
  void note(std::string text);
  void fail(const std::string& complaint);
  void demand(bool holds, const std::string& complaint) {
    if (!holds) fail(complaint);
  }

  Inbox inbox_;
  OrderModel model_;
  std::mt19937_64 random_;
  const int keys_;
  std::int32_t handler_ = 0;
  std::array<Instance, 2> instances_{{{"A"}, {"B"}}};
  Instance* owner_ = nullptr;
  bool is_replayed_ = false;     ///< since the owner took the sequence: it has another fence
  bool is_finishing_ = false;    ///< no event fails any more
  std::vector<base::Uuid> ids_;  ///< by offset

 private:
  bool owns(const Instance& instance) const { return owner_ == &instance; }
  bool may_lease(const Instance& instance) const { return owns(instance) && !is_replayed_; }
  void check_lanes();
  static bool is_called(const Instance& instance, const Lease& lease, std::int64_t offset);
  OrderModel::Outcome decide(const Lease& lease, std::int64_t offset, const Call& call);
  OrderModel::Outcome verdict(std::int64_t offset);
  inbox::Settlement settlement_of(const Call& call);

  const config::OnFailure on_failure_;
  const std::int32_t shard_ = inbox_.add_shard("orders");
  bool owner_has_crashed_ = false;
  std::deque<std::string> history_;
};

}  // namespace inboxd::support
