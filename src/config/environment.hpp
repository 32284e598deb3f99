#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace inboxd::config {

/// The Kafka client library's verdict on its properties: a sentence, or nullopt if it accepts them. The caller supplies
/// it, because this room does not link the library. Unset: accepts everything.
struct KafkaLibrary {
  std::function<std::optional<std::string>(const std::string& name)> refusal_of_name = {};
  std::function<std::optional<std::string>(const std::string& name, const std::string& value)> refusal_of_value = {};
};

/// Whether a command needs the secret of a key, such as `topics[0].http.token[1]`.
using NeedsSecret = std::function<bool(std::string_view key)>;

/// Everything outside the file that a configuration may refer to. Functions, so that tests need no real environment.
struct Environment {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  /// The bytes of a small file, or the operating system's reason ("No such file or directory").
  std::function<base::Result<std::string>(const std::string& path)> read_file;
  /// Checks the file alone: secrets are not read and stay empty.
  bool offline = false;
  KafkaLibrary kafka_library = {};
  /// Secrets that the command does not need are not read and stay empty; unset: it needs all.
  NeedsSecret needs_secret = {};
  /// Of relative paths in `{file: …}`; empty: the working directory. load_text and load_file set it to the folder of
  /// their file.
  std::filesystem::path folder = {};

  bool leaves_out(std::string_view key) const { return offline || (needs_secret && !needs_secret(key)); }
};

/// The process's own. Reads the environment, which no thread may change meanwhile.
Environment process_environment(bool offline, KafkaLibrary kafka_library);

/// Replaces `${NAME}`, `${NAME:-default}` (also for an empty NAME) and `$$`, once and without recursion. Any other `$`
/// stays, but `$NAME` is a problem: probably a mistake.
base::Result<std::string> expand(const std::string& text, const Environment& environment);

/// The most bytes of a file with a secret.
inline constexpr std::size_t largest_secret = 64 * 1024;

/// The bytes of a file, at most `limit`, or the operating system's reason.
base::Result<std::string> read_file(const std::string& path, std::size_t limit);

}  // namespace inboxd::config
