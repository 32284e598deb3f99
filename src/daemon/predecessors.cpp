#include "daemon/predecessors.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "base/presence.hpp"
#include "inbox/answer.hpp"
#include "inbox/predecessors.hpp"

namespace inboxd::daemon {
namespace {

using namespace std::chrono_literals;

constexpr int deliveries_per_statement = 10'000;
/// Rows that sessions of the predecessor have locked are tried again.
constexpr auto retry_interval = 20ms;
constexpr auto patience = 3s;

}  // namespace

bool end_predecessors(inbox::Connection& connection, const inbox::InstanceIdentity& self,
                      const inbox::Watchdog& watchdog, base::Logger& log) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::vector<base::Uuid> gone;
  bool is_done = false;
  const auto failure = inbox::database_failure_of([&] {
    for (const auto& one : inbox::find_predecessors(connection, self)) {
      if (!one.is_same_member && base::may_be_present(one.instance_id)) continue;
      if (one.is_same_member && one.is_same_boot && base::is_present(one.instance_id)) {
        log.warn("daemon.instance_id_shared",
                 {{"instance", one.instance_id.text()}, {"host", one.host}, {"process", one.process_id}});
        continue;  // brokers shut it out, and then it releases its leases
      }
      gone.push_back(one.instance_id);
      log.info("daemon.predecessor_ended", {{"instance", one.instance_id.text()},
                                            {"host", one.host},
                                            {"process", one.process_id},
                                            {"same_member", one.is_same_member}});
    }
    is_done = gone.empty() || inbox::end_leases(connection, gone, self.instance_id, deliveries_per_statement);
    while (!is_done && std::chrono::steady_clock::now() < end && !watchdog.must_end(std::chrono::steady_clock::now())) {
      std::this_thread::sleep_for(retry_interval);
      is_done = inbox::end_leases(connection, gone, self.instance_id, deliveries_per_statement);
    }
  });
  if (failure) {
    log.warn("daemon.predecessor_waits", {{"error", failure->message}});
  } else if (!is_done) {
    log.warn("daemon.predecessor_waits", {{"error", "their rows are locked"}});
  }
  return !gone.empty();
}

}  // namespace inboxd::daemon
