#include "queue/early_events.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "queue/key_order.hpp"

namespace inboxd::dispatcher {
namespace {

/// What becomes of a taken event.
enum class Fate { called, early, waits, put_back };

bool any_early(const RunSlice& slice, event::Microseconds now) {
  const auto& events = slice.run->lease.events;
  const auto at = [&](std::size_t index) { return events.begin() + static_cast<std::ptrdiff_t>(index); };
  return std::any_of(at(slice.first), at(slice.end), [&](const event::Event* each) { return is_early(*each, now); });
}

/// Decides on events in their order.
class Fates final {
 public:
  explicit Fates(event::Microseconds now) : now_{now} {}

  Fate next(const settler::Run& run, std::size_t index) {
    const bool early = is_early(*run.lease.events[index], now_);
    const Fate first = early ? Fate::early : Fate::called;
    const OrderKey key = order_key_of(run, index);
    if (key == 0) return first;
    const auto [at, is_first] = of_key_.try_emplace(key, Key{early ? Fate::waits : Fate::called, &run});
    if (is_first) return first;
    Key& of_next = at->second;
    const bool must_wait = of_next.fate == Fate::waits ? of_next.run != &run : early;
    if (must_wait) of_next.fate = Fate::put_back;
    return of_next.fate;
  }

 private:
  struct Key {
    Fate fate;                ///< of its next event
    const settler::Run* run;  ///< of its first event: outcomes of another run may be recorded earlier
  };

  event::Microseconds now_;
  std::unordered_map<OrderKey, Key> of_key_;
};

void add(EarlyEvents& out, const RunSlice& part, const std::vector<Fate>& fates) {
  if (fates.front() == Fate::put_back) {
    out.put_back.push_back(part);
    return;
  }
  settler::Report report{part.run, part.first, part.end, {}};
  using Kind = settler::FailedEvent::Kind;
  for (std::size_t i = part.first; i < part.end; ++i) {
    const Kind kind = fates[i - part.first] == Fate::early ? Kind::early : Kind::waits;
    report.failed.push_back({i, {}, std::chrono::milliseconds{0}, kind});
  }
  out.reports.push_back(std::move(report));
}

/// Whether neighbouring events stay together.
bool alike(Fate a, Fate b) {
  const auto is_reported = [](Fate fate) { return fate == Fate::early || fate == Fate::waits; };
  return a == b || (is_reported(a) && is_reported(b));
}

}  // namespace

EarlyEvents take_out_early(std::vector<RunSlice>& slices, event::Microseconds now) {
  EarlyEvents out;
  if (std::none_of(slices.begin(), slices.end(), [&](const RunSlice& slice) { return any_early(slice, now); })) {
    return out;
  }
  Fates fates{now};
  std::vector<RunSlice> called;
  bool begins_call = false;  // also if the call's first events are taken out
  for (const RunSlice& slice : slices) {
    begins_call = begins_call || slice.begins_call;
    RunSlice part = slice;
    std::vector<Fate> of_part;
    const auto end_part = [&](std::size_t end) {
      part.end = end;
      if (of_part.empty()) return;
      if (of_part.front() == Fate::called) {
        part.begins_call = std::exchange(begins_call, false);
        called.push_back(part);
      } else {
        add(out, part, of_part);
      }
      of_part.clear();
      part.first = end;
    };
    for (std::size_t i = slice.first; i < slice.end; ++i) {
      const Fate fate = fates.next(*slice.run, i);
      if (!of_part.empty() && !alike(of_part.front(), fate)) end_part(i);
      of_part.push_back(fate);
    }
    end_part(slice.end);
  }
  slices = std::move(called);
  return out;
}

}  // namespace inboxd::dispatcher
