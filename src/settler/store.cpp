#include "settler/store.hpp"

#include "inbox/connection.hpp"

namespace inboxd::settler {
namespace {

class DatabaseStore final : public Store {
 public:
  DatabaseStore(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log)
      : owner_{owner}, connection_{database, "settler", watchdog, log} {
    connection_.prefer_indexes();
  }

  Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) override {
    return ask([&] { return inbox::settle(connection_, owner_, settlements); });
  }

 private:
  base::Uuid owner_;
  inbox::Connection connection_;
};

}  // namespace

std::unique_ptr<Store> database_store(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog,
                                      base::Logger& log) {
  return std::make_unique<DatabaseStore>(database, owner, watchdog, log);
}

}  // namespace inboxd::settler
