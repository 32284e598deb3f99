// A database that takes what is sent to it and says nothing.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "integration/support/inbox.hpp"
#include "maintenance/maintenance.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

constexpr auto deadline = 2s;
/// Of one chore's beginning each, where all fail.
constexpr std::size_t moves_of_a_round = 8;

/// The longest that nothing moved from the first move on, over all chores.
std::chrono::nanoseconds longest_standstill(const maintenance::Maintenance& maintenance) {
  std::set<std::int64_t> moves;
  wait_until(
      "each chore had its turn",
      [&] {
        if (const auto moved = maintenance.last_moved(); moved != 0) moves.insert(moved);
        return moves.size() > moves_of_a_round;
      },
      60s);
  std::int64_t longest = 0;
  for (auto at = moves.begin(); std::next(at) != moves.end(); ++at) longest = std::max(longest, *std::next(at) - *at);
  return std::chrono::nanoseconds{longest};
}

}  // namespace

TEST_CASE("while the database is silent, the housekeeping never stands still for longer than one question takes") {
  Inbox inbox;
  Proxy proxy{port_of(inbox.settings().url)};
  proxy.freeze(true);
  config::Settings settings;
  settings.database = inbox.settings();
  settings.database.url = url_with_port(settings.database.url, proxy.port());
  settings.database.deadline = deadline;
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Registrations registrations;
  maintenance::Maintenance maintenance{
      settings, {inbox.owner, "here", 1}, registrations, [] { return std::nullopt; }, watchdog, log};
  maintenance.start();
  CHECK(longest_standstill(maintenance) < 2 * deadline);
  watchdog.cut_all(std::chrono::steady_clock::now());
}
