#pragma once
#include <algorithm>
#include <map>
#include <string>

#include "config/load.hpp"

namespace inboxd::tests {

/// An environment of maps, independent of the machine.
struct FakeEnvironment {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
  bool offline = false;
  config::KafkaLibrary kafka_library = {};  ///< unset: accepts every property

  config::Environment get() const {
    const auto variable = [*this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional{found->second};
    };
    const auto read = [*this](const std::string& path) -> base::Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return base::Problem{"No such file or directory"};
      return found->second;
    };
    return {variable, read, offline, kafka_library};
  }
};

/// The required keys. Tests append their own keys, from line 9 on.
inline const std::string needed = R"(database: {url: "postgresql://app@localhost/app"}
kafka: {brokers: "localhost:9092", group: inboxd}
topics:
  - name: orders
handlers:
  - name: first
    plugin: log
    subscribe: {topics: [orders]}
)";

inline config::Loaded load(const std::string& text, const FakeEnvironment& environment = {}) {
  return config::load_text(text, "inboxd.yaml", environment.get());
}

/// All problems, a line for each.
inline std::string problems(const config::Loaded& loaded) {
  std::string out;
  for (const config::Finding& finding : loaded.problems) out += finding.text() + "\n";
  return out;
}
inline std::string warnings(const config::Loaded& loaded) {
  std::string out;
  for (const config::Finding& finding : loaded.warnings) out += finding.text() + "\n";
  return out;
}

/// All problems and warnings.
inline std::string everything_said(const config::Loaded& loaded) { return problems(loaded) + warnings(loaded); }

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the test's text has no '" + from + "'");
  return text.replace(at, from.size(), to);
}

}  // namespace inboxd::tests
