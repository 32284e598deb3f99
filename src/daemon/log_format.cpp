#include "daemon/log_format.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace inboxd::daemon {
namespace {

/// systemd names the device and inode of the journal's stream; it may be inherited by what writes elsewhere.
bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat about {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &about) != 0) return false;
  return stream == std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
}

}  // namespace

base::LogFormat format_of(const config::Log& log) {
  if (log.format) return *log.format;
  if (stderr_is_journal()) return base::LogFormat::journal;
  return ::isatty(STDERR_FILENO) == 1 ? base::LogFormat::text : base::LogFormat::json;
}

}  // namespace inboxd::daemon
