#include "daemon/load_configuration.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "config/kafka_properties.hpp"
#include "config/suggest.hpp"
#include "kafka/properties.hpp"
#include "kafka/property_check.hpp"

namespace inboxd::daemon {
namespace {

std::optional<std::string> refusal_of_name(const std::string& name) {
  if (kafka::knows_property(name)) return std::nullopt;
  const std::string sentence = "librdkafka " + kafka::library_version() + " has no such property; ";
  const auto near = config::closest(name, kafka::property_names());
  if (!near) return sentence + "see its CONFIGURATION.md";
  const auto refusal = config::refusal_of_kafka_property(*near);  // would be reported only after the correction
  return sentence + "did you mean " + *near + "?" + (refusal ? " " + *refusal : "");
}

std::optional<std::string> refusal_of_value(const std::string& name, const std::string& value) {
  const auto refusal = kafka::refusal_of_value(name, value);
  if (!refusal) {
    std::string unsound = kafka::assignment_problem({{name, value}});
    return unsound.empty() ? std::nullopt : std::optional{std::move(unsound)};
  }
  return "librdkafka refuses the value: " + *refusal;
}

/// $JOURNAL_STREAM names the journal stream's device and inode. A child that redirects stderr inherits the variable.
bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat about {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &about) != 0) return false;
  return stream == std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
}

}  // namespace

config::Loaded load_configuration(const std::string& file, bool offline) {
  return config::load_file(file, config::process_environment(offline, {refusal_of_name, refusal_of_value}));
}

config::Loaded load_configuration(const std::string& file, config::NeedsSecret needs_secret) {
  auto environment = config::process_environment(false, {refusal_of_name, refusal_of_value});
  environment.needs_secret = std::move(needs_secret);
  return config::load_file(file, environment);
}

config::Loaded with_new_secrets(const config::Loaded& before) {
  return config::load_text(before.text, before.file,
                           config::process_environment(false, {refusal_of_name, refusal_of_value}));
}

base::LogFormat format_of(const config::Log& log) {
  if (log.format) return *log.format;
  if (stderr_is_journal()) return base::LogFormat::journal;
  return ::isatty(STDERR_FILENO) == 1 ? base::LogFormat::text : base::LogFormat::json;
}

}  // namespace inboxd::daemon
