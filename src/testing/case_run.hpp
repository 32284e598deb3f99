#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/logger.hpp"
#include "base/result.hpp"
#include "base/uuid.hpp"
#include "config/load.hpp"
#include "daemon/daemon.hpp"
#include "inbox/connection.hpp"
#include "inbox/watchdog.hpp"
#include "plugin/loader.hpp"
#include "testing/compare.hpp"
#include "testing/intake.hpp"
#include "testing/local_intake.hpp"
#include "testing/test_file.hpp"

namespace inboxd::testing {

/// A daemon on a migrated throw-away database: production's parts, fed with the records of a case. A single thread.
class CaseRun final {
 public:
  /// `loaded`: with settings_for_test().
  CaseRun(config::Loaded loaded, plugin::Loader& plugins, base::Logger& log);
  ~CaseRun();
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;

  std::optional<base::Problem> start();
  /// Stores the records one after the other. The next record is stored once each handler has made its first attempt at
  /// the one before, unless it collects a batch. Ends early at `end`, or once `must_end`. Throws DatabaseError.
  base::Result<std::vector<ObservedRecord>> run(const Case& what, std::chrono::steady_clock::time_point end,
                                                const std::function<bool()>& must_end);
  /// Ends running calls. False: some never returned. Their threads keep the daemon, which is leaked, and the process
  /// has to end without destructors of static objects.
  bool stop();
  /// The messages in the outbox, which nothing sends on. Throws DatabaseError.
  std::vector<operations::OutgoingMessage> outbox();

 private:
  base::Result<Intake::Taken> store(const SampleRecord& sample, const std::function<bool()>& is_over);
  /// True: each handler has an outcome.
  bool observe(ObservedRecord& record, bool with_batches);

  std::unique_ptr<const config::Loaded> loaded_;
  plugin::Loader& plugins_;
  base::Logger& log_;
  const base::Uuid owner_ = base::random_uuid();
  inbox::Watchdog watchdog_;
  inbox::Connection connection_;
  std::unique_ptr<daemon::Daemon> daemon_;
  std::optional<Intake> intake_;
  std::optional<LocalIntake> local_intake_;
};

}  // namespace inboxd::testing
