// Random steps on a sequence in the real database: after each, its state is that of a model.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <stdexcept>

#include "integration/delivery/order_instances.hpp"
#include "integration/operations/operation_runner.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Instances, operators and the clock take steps at random.
class RandomOrder : public OrderInstances {
 public:
  RandomOrder(std::uint64_t seed, config::OnFailure on_failure) : OrderInstances{seed, on_failure} {
    database().run("set jit = off");
  }

  void run(int steps) {
    try {
      for (int i = 0; i < steps; ++i) {
        step();
        compare();
      }
      finish();
    } catch (const std::logic_error& broken) {
      fail(broken.what());
    }
  }
  using OrderInstances::events;

 private:
  void step() {
    Instance& instance = owner_ != nullptr && chance(80) ? *owner_ : instances_[static_cast<std::size_t>(pick(2))];
    if (is_replayed_ && chance(25)) return take(*owner_);  // it has found out
    const int which = pick(100);
    if (events() == 0 || which < 10) return store(instance);
    if (which < 14) return take_again(instance);
    if (which < 32) return claim(instance);
    if (which < 50) return call(instance);
    if (which < 68) return settle(instance);
    if (which < 72) return run_unordered(instance);
    if (which < 79) return pass_time();
    if (which < 82) return crash();
    if (which < 84) return release(instance);
    using State = OrderModel::State;
    if (which < 88) return skip(any_event([](const auto& each) { return each.state == State::in_lane; }));
    if (which < 91) return retry(any_event([](const auto& each) { return each.due == OrderModel::Due::later; }));
    if (which < 97) return replay(any_dead());
    release_key(key_at(1 + pick(keys_)));
  }

  /// An event that `wanted` accepts, if there is any; sometimes any event.
  template <class Wanted>
  std::int64_t any_event(Wanted wanted) {
    std::vector<std::int64_t> found;
    for (std::int64_t offset = 0; offset < events(); ++offset) {
      if (wanted(model_.event(offset))) found.push_back(offset);
    }
    return found.empty() || chance(10) ? pick(events()) : *any_of(found);
  }

  /// Preferably a dead event before leased events of its lane.
  std::int64_t any_dead() {
    using State = OrderModel::State;
    std::set<char> leased;
    for (const auto& each : model_.events()) {
      if (each.state == State::in_lane && each.is_leased) leased.insert(each.key);
    }
    const auto is_dead = [](const auto& each) { return each.state == State::dead; };
    const auto is_before_leased = [&](const auto& each) { return is_dead(each) && leased.contains(each.key); };
    const auto& all = model_.events();
    if (std::any_of(all.begin(), all.end(), is_before_leased)) return any_event(is_before_leased);
    return any_event(is_dead);
  }

  /// Often with a claim and the outcome of an earlier call at once: an owner may be its own predecessor.
  void take_again(Instance& instance) {
    take(instance);
    if (!chance(50)) return;
    claim(instance);
    settle(instance);
  }

  // ---- the clock and operators

  void pass_time() {
    for (std::int64_t offset = 0; offset < events(); ++offset) {
      const OrderModel::Event& each = model_.event(offset);
      if (!model_.is_pending(offset) || each.is_leased || each.due != OrderModel::Due::later || chance(50)) continue;
      database().run("update inbox.delivery set due_at = clock_timestamp() where pending @> $1::bigint",
                     {std::to_string(offset)});
      model_.pass_time(offset);
      note("time passes for " + std::to_string(offset));
    }
  }

  void check(const std::string& what, OrderModel::Answer expected, const operations::Answer& answer) {
    note(what + ": " + std::to_string(static_cast<int>(answer.code)));
    const auto code = expected == OrderModel::Answer::done      ? base::ExitCode::done
                      : expected == OrderModel::Answer::refused ? base::ExitCode::no
                                                                : base::ExitCode::try_again;
    demand(answer.code == code,
           "another answer than " + std::to_string(static_cast<int>(code)) + ": " + answer.message);
  }
  std::map<std::string, std::vector<std::string>> named(std::int64_t offset) const {
    return {{"id", {ids_.at(static_cast<std::size_t>(offset)).text()}}, {"handler", {"receipt"}}};
  }
  void skip(std::int64_t offset) {
    auto given = named(offset);
    given["reason"] = {"a test"};
    check("skip " + std::to_string(offset), model_.skip(offset), operators_.run("events skip", given));
  }
  void retry(std::int64_t offset) {
    check("retry " + std::to_string(offset), model_.retry(offset), operators_.run("events retry", named(offset)));
  }
  std::int64_t events_in_lanes() const {
    const auto is_in_lane = [](const auto& each) { return each.state == OrderModel::State::in_lane; };
    return std::count_if(model_.events().begin(), model_.events().end(), is_in_lane);
  }
  /// Often the owner crashes next, with later events of the lane leased.
  void replay(std::int64_t offset) {
    const auto before = events_in_lanes();
    check("replay " + std::to_string(offset), model_.replay(offset), operators_.run("dead replay", named(offset)));
    note_replay(events_in_lanes() > before);
    if (!chance(30)) return;
    crash();
    Instance& next = instances_[static_cast<std::size_t>(pick(2))];
    take(next);
    claim(next);
  }
  void release_key(char key) {
    const auto before = events_in_lanes();
    check(std::string{"release "} + key, model_.release_key(key),
          operators_.run("lanes release", {{"handler", {"receipt"}}, {"key", {std::string{key}}}}));
    note_replay(events_in_lanes() > before);
  }

  // ---- the comparison

  void compare() {
    const auto expected = model_.deliveries();
    std::set<std::string> found;
    for (const auto& row : database().rows("select l.\"offset\", d.state, d.attempts from inbox.deliveries d "
                                           "join inbox.ledger l using (event_id)")) {
      const std::string behind = *row[0] + " behind " + *row[2];
      const bool is_behind = (row[1] == "due" || row[1] == "waiting") && expected.contains(behind);
      const bool is_new = found.insert(is_behind ? behind : *row[0] + " " + *row[1] + " " + *row[2]).second;
      demand(is_new, "two rows of one event: " + *row[0]);
    }
    std::multiset<std::string> lanes;
    for (const auto& row : database().rows(
             "select v.key_text, v.state, v.waiting, l.\"offset\", v.attempts, case when v.due_at <= now() then 'now' "
             "when v.due_at is null then 'never' else 'later' end from inbox.lanes v "
             "join inbox.ledger l on l.event_id = v.head_event_id")) {
      std::string line = row[0].value_or("?");
      for (std::size_t i = 1; i < row.size(); ++i) line += " " + *row[i];
      lanes.insert(line);
    }
    demand_same(expected, found);
    demand_same(model_.lanes(), lanes);
    for (const auto& row : database().rows("select lower(pending) from inbox.delivery where lane is not null and "
                                           "owner is null and due_at < 'infinity'")) {
      demand(model_.event(std::stoll(*row[0])).due != OrderModel::Due::never, "a row that waits is due: " + *row[0]);
    }
  }

  template <class Set>
  void demand_same(const Set& expected, const Set& found) {
    std::string text;
    for (const auto& each : expected) text += found.contains(each) ? "" : " -" + each;
    for (const auto& each : found) text += expected.contains(each) ? "" : " +" + each;
    demand(expected == found, "the database is in another state:" + text);
  }

  /// All pending events come to an end, without further failures and operators.
  void finish() {
    is_finishing_ = true;
    crash();
    take(instances_[0]);
    for (int i = 0; i < 1'000 && !model_.is_over(); ++i) {
      claim(instances_[0]);
      call(instances_[0]);
      settle(instances_[0]);
      pass_time();
      run_unordered(instances_[0]);
      if (instances_[0].is_in_doubt) take(instances_[0]);
    }
    compare();
    std::string left;
    for (std::int64_t offset = 0; offset < events(); ++offset) {
      if (model_.is_pending(offset)) left += " " + std::to_string(offset) + model_.event(offset).key;
    }
    demand(left.empty(), "events are forgotten:" + left);
    demand(database().number("select count(*) from inbox.delivery") == 0, "rows are left");
  }

  OperationRunner operators_{inbox_};
};

}  // namespace

// fault: dead letters replayed, lanes released, events skipped while later rows of the key are claimed
TEST_CASE("after each step of owners and operators the database has the state of a model, and keys keep their order") {
  const auto on_failure = GENERATE(config::OnFailure::block, config::OnFailure::park, config::OnFailure::skip);
  const auto seed = static_cast<std::uint64_t>(Catch::getSeed());
  int events = 0;
  const std::uint64_t models = is_long() ? 100 : 5;
  for (std::uint64_t i = 0; i < models; ++i) {
    INFO("seed " << seed << ", model " << i);
    RandomOrder order{seed * 1'000 + i, on_failure};
    order.run(150);
    events += order.events();
  }
  WARN(models << " models of 150 steps, " << events << " events");
}
