// Which event of a key may run, against a list of events for each key: in order, and none forgotten.
#include "queue/key_order.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "fuzz/target.hpp"
#include "unit/queue/keyed_runs.hpp"

using namespace inboxd;
using dispatcher::KeyOrder;
using dispatcher::Pick;

namespace {

constexpr std::size_t key_count = 3;

struct Model {
  enum class State { new_event, deferred, taken, leaving, in_lane, done };
  struct Entry {
    Pick pick;
    std::size_t key = 0;
    State state = State::new_event;
    KeyOrder::Call call = 0;
  };

  KeyOrder order;
  std::vector<Entry> events;  ///< in the order of the log
  KeyOrder::Call last_call = 0;
  std::int64_t next_delivery = 1;

  Entry& entry_of(const settler::Run& run, std::size_t index) {
    return *std::find_if(events.begin(), events.end(),
                         [&](const Entry& each) { return each.pick.run.get() == &run && each.pick.index == index; });
  }

  void add_run(fuzz::Input& input) {
    test::KeyedRun from;
    from.delivery_id = next_delivery++;
    std::vector<std::size_t> keys;
    for (std::size_t count = 1 + input.below(4); count > 0; --count) {
      keys.push_back(input.below(key_count));
      from.keys.push_back(static_cast<envelope::KeyHash>(keys.back() + 1));
      from.offsets.push_back(static_cast<std::int64_t>(events.size() + from.offsets.size()));
    }
    const auto run = test::run_in_order(from);
    for (std::size_t i = 0; i < keys.size(); ++i) events.push_back({{run, i}, keys[i]});
  }

  void take_next(bool joins) {
    const auto next =
        std::find_if(events.begin(), events.end(), [](auto& each) { return each.state == State::new_event; });
    if (next == events.end()) return;
    const auto call = joins && last_call > 0 ? last_call : ++last_call;
    next->state = State::deferred;
    if (order.take(next->pick, call)) note_taken(*next, call);
  }

  void note_taken(Entry& entry, KeyOrder::Call call) {
    fuzz::require(entry.state == State::deferred, "an event is taken once");
    entry.state = State::taken;
    entry.call = call;
    for (const Entry& each : events) {
      if (&each == &entry) return;
      if (each.key != entry.key || each.state == State::done) continue;
      fuzz::require(each.state == State::taken, "no event is taken before an earlier one of its key");
      fuzz::require(each.call == call && each.pick.run == entry.pick.run, "together only in a call of one run");
    }
  }

  void take_ready(std::size_t most) {
    const auto call = ++last_call;
    for (const Pick& pick : order.take_ready(most, call)) note_taken(entry_of(*pick.run, pick.index), call);
  }

  /// The first event of the key that is taken, if any.
  Entry* first_taken(std::size_t key) {
    for (Entry& each : events) {
      if (each.key == key && each.state == State::taken) return &each;
    }
    return nullptr;
  }

  void settle(std::size_t key, bool fails) {
    Entry* const entry = first_taken(key);
    if (entry == nullptr) return;
    settler::KeyEffects effects;
    const auto index = entry->pick.index;
    if (fails) {
      effects.blocking.push_back(index);
    } else {
      effects.finished.add(static_cast<std::int64_t>(index));
    }
    entry->state = fails ? State::in_lane : State::done;
    order.settled(*entry->pick.run, effects);
    // The call's later events of the key are not called behind the failure.
    for (Entry& each : events) {
      if (!fails || each.key != key || each.state != State::taken) continue;
      settler::KeyEffects waits;
      waits.waiting.push_back(each.pick.index);
      each.state = State::in_lane;
      order.settled(*each.pick.run, waits);
    }
  }

  void send_behind() {
    for (const settler::Report& report : order.take_behind()) {
      for (auto index = report.first; index < report.end; ++index) {
        Entry& entry = entry_of(*report.run, index);
        fuzz::require(entry.state == State::deferred, "only an event in memory leaves it");
        for (const Entry& each : events) {
          if (&each == &entry) break;
          const bool is_ahead = each.key != entry.key || each.state == State::done || each.state == State::in_lane ||
                                each.state == State::leaving;
          fuzz::require(is_ahead, "an event goes to the lane after the earlier events of its key");
        }
        entry.state = State::leaving;
      }
    }
    for (Entry& each : events) {
      if (each.state != State::leaving) continue;
      settler::KeyEffects effects;
      effects.waiting.push_back(each.pick.index);
      each.state = State::in_lane;
      order.settled(*each.pick.run, effects, false);
    }
  }

  /// Another instance handles all events of the lanes that are asked for.
  void check_lanes() {
    auto lanes = order.to_check(10, true);
    for (inbox::Lane& lane : lanes) {
      for (Entry& each : events) {
        if (static_cast<std::int64_t>(each.key + 1) == lane.lane && each.state == State::in_lane)
          each.state = State::done;
      }
      lane = {lane.sequence, lane.lane, false, false};
    }
    order.checked(lanes);
  }

  void put_back() {
    std::vector<Pick> picks;
    for (Entry& each : events) {
      if (each.state != State::taken || each.call != last_call) continue;
      each.state = State::deferred;
      picks.push_back(each.pick);
    }
    order.put_back(picks);
  }

  bool has_ended() const {
    return std::all_of(events.begin(), events.end(), [](const Entry& each) { return each.state == State::done; });
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  Model model;
  for (int step = 0; step < 200 && !input.empty(); ++step) {
    switch (input.below(9)) {
      case 0:
        model.add_run(input);
        break;
      case 1:
        model.take_next(true);
        break;
      case 2:
        model.take_next(false);
        break;
      case 3:
        model.take_ready(1 + input.below(4));
        break;
      case 4:
        model.settle(input.below(key_count), false);
        break;
      case 5:
        model.settle(input.below(key_count), true);
        break;
      case 6:
        model.put_back();
        break;
      case 7:
        model.check_lanes();
        break;
      default:
        model.send_behind();
    }
  }
  for (std::size_t round = 0; round < 4 * model.events.size() + 8 && !model.has_ended(); ++round) {
    model.take_next(false);
    for (std::size_t key = 0; key < key_count; ++key) model.settle(key, false);
    model.take_ready(4);
    model.send_behind();
    model.check_lanes();
  }
  fuzz::require(model.has_ended(), "every event of every key comes to its end");
  fuzz::require(model.order.deferred() == 0 && model.order.blocked_keys() == 0, "nothing is kept afterwards");
  return 0;
}
