#include "dispatcher/deliveries.hpp"

#include <algorithm>

#include "inbox/connection.hpp"
#include "inbox/settle.hpp"

namespace inboxd::dispatcher {
namespace {

using settler::ask;

class DatabaseDeliveries final : public Deliveries {
 public:
  DatabaseDeliveries(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log)
      : owner_{owner}, deadline_{database.deadline}, connection_{database, "dispatcher", watchdog, log} {
    connection_.prefer_indexes();
  }

  Answer<inbox::Claimed> claim(const inbox::ClaimRequest& request) override {
    inbox::ClaimRequest ours = request;
    ours.owner = owner_;
    return ask([&] { return inbox::claim(connection_, ours); });
  }

  Answer<inbox::DueReading> read_due(std::int32_t handler_id, std::optional<event::Microseconds> from,
                                     bool asks_writers) override {
    return ask([&] { return inbox::read_due(connection_, handler_id, from, asks_writers); });
  }

  Answer<std::int64_t> renew(const std::vector<inbox::LeaseKey>& keys, std::chrono::milliseconds lease) override {
    return ask([&] { return inbox::renew(connection_, owner_, keys, lease); });
  }

  Answer<std::int64_t> give_back(const std::vector<inbox::LeaseKey>& keys) override {
    return ask([&] { return inbox::give_back(connection_, owner_, keys); });
  }

  Answer<std::int64_t> give_back_claims(std::int32_t handler_id, const std::vector<std::int64_t>& fences,
                                        std::chrono::milliseconds since) override {
    return ask([&] { return inbox::give_back_claims(connection_, owner_, handler_id, fences, since); });
  }

  Answer<std::monostate> settle_skipped(const std::vector<inbox::LeaseKey>& keys) override {
    return ask([&] {
      inbox::settle_skipped(connection_, owner_, keys);
      return std::monostate{};
    });
  }

  void limit_statements(std::optional<std::chrono::milliseconds> longest) override {
    using Clock = std::chrono::steady_clock;
    connection_.set_deadline(std::min(longest.value_or(deadline_), deadline_));
    connection_.set_end(longest ? Clock::now() + *longest : Clock::time_point::max());
  }

  int generation() const override { return connection_.generation(); }

 private:
  const base::Uuid owner_;
  const std::chrono::milliseconds deadline_;
  inbox::Connection connection_;
};

}  // namespace

std::unique_ptr<Deliveries> database_deliveries(const config::Database& database, base::Uuid owner,
                                                inbox::Watchdog& watchdog, base::Logger& log) {
  return std::make_unique<DatabaseDeliveries>(database, owner, watchdog, log);
}

}  // namespace inboxd::dispatcher
