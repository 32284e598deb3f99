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
/// Heartbeats of a round: a heartbeat per task, all of which fail, and the thread's first.
constexpr std::size_t moves_of_a_round = 9;

/// The longest pause between heartbeats, over all tasks.
std::chrono::nanoseconds max_pause(const maintenance::Maintenance& maintenance) {
  std::set<base::Heartbeat::Clock::time_point> moves;
  wait_until(
      "each task had its turn",
      [&] {
        moves.insert(maintenance.heartbeat().last());
        return moves.size() > moves_of_a_round;
      },
      60s);
  std::chrono::nanoseconds longest{0};
  for (auto at = moves.begin(); std::next(at) != moves.end(); ++at)
    longest = std::max<std::chrono::nanoseconds>(longest, *std::next(at) - *at);
  return longest;
}

}  // namespace

TEST_CASE("while the database does not answer, maintenance pauses no longer than a query may take") {
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
  inbox::Unsubscribed unsubscribed;
  inbox::Resends resends;
  inbox::LedgerFilters filters;
  std::atomic<bool> quarantine_is_full{false};
  history::History history;
  maintenance::Maintenance maintenance{
      settings, {inbox.owner, "here", 1}, registrations, {unsubscribed, resends, filters, quarantine_is_full},
      [] { return std::nullopt; }, [](const auto&) { return std::vector<inbox::HandlerActivity>{}; }, history,
      {}, watchdog, log};
  maintenance.start();
  CHECK(max_pause(maintenance) < 2 * deadline);
  watchdog.cut_all(std::chrono::steady_clock::now());
}
