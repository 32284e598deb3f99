#include <catch2/catch_test_macros.hpp>

#include "integration/support/inbox.hpp"
#include "maintenance/maintenance.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

TEST_CASE("after a retirement, a refused preparation is requested again after 30 s, and no sooner") {
  Inbox inbox;
  config::Handler handler;
  handler.name = "receipt";
  handler.topics = {"orders"};
  inbox::Registrations registrations;
  registrations.set(inbox::register_handlers(inbox.connection(), {handler}));
  inbox.database().run("update inbox.handler set retired_at = now()");
  config::Settings settings;
  settings.database = inbox.settings();
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
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
  const auto is_called = [&] { return maintenance.take_stale_handlers(); };
  wait_until("it is called", is_called);
  const auto called_at = std::chrono::steady_clock::now();
  wait_until("it is called again", is_called, 60s);
  CHECK(std::chrono::steady_clock::now() - called_at > 25s);
}
