#include "process/support/final_verify.hpp"

#include <exception>
#include <stdexcept>

namespace inboxd::support {

FinalVerify::~FinalVerify() noexcept(false) {
  if (is_skipped_ || std::uncaught_exceptions() > 0) return;
  database_.session().close();  // may hold a transaction of the test
  if (!is_migrated()) return;
  const auto finished = command(readable_config(), {"verify", "--against", "database"});
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{"inboxd verify: " + finished.out + finished.err};
}

/// Verify reads the retention of the configuration. The rest may name proxies, files and logins of the test that are
/// gone by now.
ConfigText FinalVerify::readable_config() const {
  ConfigText out = config_;
  out.url = database_.url();
  out.brokers = "127.0.0.1:1";
  out.kafka.clear();
  out.handlers = {HandlerText{}};
  const auto retention = config_.sections.find("retention");
  out.sections.clear();
  if (retention != config_.sections.end()) out.sections.insert(*retention);
  return out;
}

bool FinalVerify::is_migrated() const {
  return database_.text("select exists (select from pg_tables where (schemaname, tablename) = ($1, 'event'))",
                        {config_.schema}) == "t";
}

}  // namespace inboxd::support
