#include <exception>

#include "inbox/database_transaction.hpp"

namespace inboxd::inbox {
namespace {

class DatabaseDescriber final : public SqlDescriber {
 public:
  DatabaseDescriber(const config::Database& settings, Watchdog& watchdog, base::Logger& log)
      : limit_{settings.deadline}, transaction_{settings, base::Uuid{}, "check", watchdog, log} {}

  std::unique_ptr<SqlResult> describe(const SqlStatement& statement) override {
    if (is_away_) return nullptr;
    try {
      return transaction_.describe(statement, limit_);
    } catch (...) {
      inbox::describe(std::current_exception());
      is_away_ = true;  // asked once: each question would wait for its own
      return nullptr;
    }
  }

 private:
  std::chrono::milliseconds limit_;
  bool is_away_ = false;
  DatabaseTransaction transaction_;
};

}  // namespace

std::unique_ptr<SqlDescriber> database_describer(const config::Database& database, Watchdog& watchdog,
                                                 base::Logger& log) {
  return std::make_unique<DatabaseDescriber>(database, watchdog, log);
}

}  // namespace inboxd::inbox
