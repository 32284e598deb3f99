#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace inboxd::config {

/// What the client library of Kafka says of its properties, as sentences; nullopt where it takes one. Handed in from
/// above: this room knows no client library. Unset: whatever is not refused here passes.
struct KafkaLibrary {
  std::function<std::optional<std::string>(const std::string& name)> refusal_of_name = {};
  std::function<std::optional<std::string>(const std::string& name, const std::string& value)> refusal_of_value = {};
};

/// What a configuration may refer to outside its file. Functions, so that tests need no real environment.
struct Environment {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  /// The bytes of a small file; the problem says why not ("No such file or directory").
  std::function<base::Result<std::string>(const std::string& path)> read_file;
  /// Secrets are not looked up: the file alone is judged. They stay empty.
  bool offline = false;
  KafkaLibrary kafka_library = {};
};

/// The process's own. Reads the environment: nobody may change it meanwhile.
Environment process_environment(bool offline, KafkaLibrary kafka_library);

/// A text with `${NAME}`, `${NAME:-default}` (also used where NAME is empty) and `$$` replaced, once and without
/// recursion. Any other `$` stands for itself, but `$NAME` is a problem: it was meant to be something.
base::Result<std::string> expand(const std::string& text, const Environment& environment);

/// The bytes of a file, at most `limit`; the problem is the operating system's reason.
base::Result<std::string> read_file(const std::string& path, std::size_t limit);

}  // namespace inboxd::config
