// Figures of several instances on the same steps.
#include "history/merge.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "history/history.hpp"
#include "history/packed.hpp"

using namespace inboxd::history;
using std::chrono::seconds;

namespace {

constexpr std::int64_t start = 1'700'006'400;

/// An instance that ran from `begin` on, with so many events a second by handler `receipt`.
struct Instance {
  History history;
  Sample now;
  std::int64_t wall;

  Instance(std::int64_t begin, std::int64_t end, std::uint64_t rate) : wall{begin} {
    now.handlers["receipt"].dead = 3;
    run_until(end, rate);
  }
  void run_until(std::int64_t end, std::uint64_t rate) {
    for (; wall <= end; wall += hour_step) {
      now.handlers["receipt"].done += rate * hour_step;
      now.handlers["receipt"].failures["http.503"] += 1;
      history.record(now, wall, History::Clock::time_point{seconds{wall}});
    }
  }
  Peer as_peer(bool is_live) { return {*unpack(*history.take_minutes()), is_live, wall - hour_step}; }
};

const Track& receipt(const View& view) { return view.handlers.at("receipt"); }

}  // namespace

TEST_CASE("rates of two instances are added, and figures of the database are not") {
  Instance own{start, start + 600, 10};
  Instance other{start, start + 600, 20};
  View view = own.history.view(Span::hour);
  merge(view, {other.as_peer(true)});
  CHECK(receipt(view).fields[done].back() == 30);
  CHECK(receipt(view).fields[dead].back() == 3);
  CHECK(receipt(view).failures.at("http.503").back() == 2);
}

TEST_CASE("while another instance has yet to write its last minute, the sum is unknown") {
  Instance own{start, start + 650, 10};
  Instance other{start, start + 600, 20};
  View view = own.history.view(Span::hour);
  merge(view, {other.as_peer(true)});
  CHECK(std::isnan(receipt(view).fields[done].back()));
  CHECK(receipt(view).fields[done][hour_steps - 6] == 30);
  CHECK(receipt(view).fields[dead].back() == 3);
}

TEST_CASE("after the last heartbeat of a killed instance the sum has the others alone") {
  Instance killed{start, start + 610, 20};
  const Peer peer = killed.as_peer(false);
  Instance own{start, start + 900, 10};
  View view = own.history.view(Span::hour);
  merge(view, {peer});
  const Values& rates = receipt(view).fields[done];
  CHECK(rates.back() == 10);
  CHECK(rates[hour_steps - 1 - 30] == 30);          // its last complete minute
  CHECK(std::isnan(rates[hour_steps - 1 - 29]));    // its last ten seconds
  CHECK(rates[hour_steps - 1 - 28] == 10);
}

TEST_CASE("after a restart the hour has what the process before it wrote, and the rest is unknown") {
  Instance before{start, start + 600, 20};
  const Peer peer = before.as_peer(false);
  Instance own{start + 900, start + 1'000, 10};
  View view = own.history.view(Span::hour);
  merge(view, {peer});
  const Values& rates = receipt(view).fields[done];
  CHECK(rates.back() == 10);
  CHECK(std::isnan(rates[hour_steps - 1 - 20]));  // between them
  CHECK(rates[hour_steps - 1 - 41] == 20);
  CHECK(std::isnan(rates.front()));
}

TEST_CASE("the day keeps the figures of an instance beyond the hour that its row has") {
  Instance own{start, start, 10};
  Instance other{start, start, 20};
  for (std::int64_t end = start + 60; end <= start + 3 * 3'600; end += 60) {
    own.run_until(end, 10);
    other.run_until(end, 20);
    const auto written = other.history.take_minutes();
    if (written && own.history.wants_peers()) own.history.add_peers({{*unpack(*written), true, end}});
  }
  const View day = own.history.view(Span::day);
  const Values& rates = receipt(day).fields[done];
  int known = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::int64_t end = day.end - static_cast<std::int64_t>(rates.size() - 1 - i) * day_step;
    if (std::isnan(rates[i]) || end > day.merged_until || end <= start + 300) continue;
    ++known;
    CHECK(std::abs(rates[i] - 30) < 0.5);
  }
  CHECK(known >= 33);
  View merged = day;
  merge(merged, {{*unpack(pack(minutes_of(other.history.view(Span::hour)))), true, other.wall}}, day.merged_until);
  CHECK(receipt(merged).fields[done][rates.size() - 20] == rates[rates.size() - 20]);  // not added twice
}

TEST_CASE("a summary from the future or the past touches no step") {
  Instance own{start, start + 600, 10};
  Instance other{start + 40 * 86'400, start + 40 * 86'400 + 600, 20};
  View view = own.history.view(Span::hour);
  merge(view, {other.as_peer(false)});
  CHECK(receipt(view).fields[done].back() == 10);
  Instance old{start - 40 * 86'400, start - 40 * 86'400 + 600, 20};
  merge(view, {old.as_peer(false)});
  CHECK(receipt(view).fields[done].back() == 10);
}
