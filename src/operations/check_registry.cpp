#include "operations/check_registry.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "formats/registry_client.hpp"

namespace inboxd::operations {
namespace {

/// Short, because a person waits.
constexpr std::chrono::milliseconds max_wait{5'000};

}  // namespace

FoundList check_registries(const config::Settings& settings) {
  std::vector<config::Registry> registries;
  for (const config::Topic& topic : settings.topics) {
    for (const config::Format* const format : {&topic.value, &topic.key}) {
      const bool is_new = std::find(registries.begin(), registries.end(), format->registry) == registries.end();
      if (!format->registry.url.empty() && is_new) registries.push_back(format->registry);
    }
  }
  FoundList out;
  for (config::Registry& registry : registries) {
    const std::string subject = "registry " + registry.url;
    registry.timeout = std::min(registry.timeout, max_wait);
    const std::string failure = formats::RegistryClient{registry}.probe();
    if (failure.empty()) out.push_back({Finding::Kind::good, subject, "it answers"});
    else out.push_back({Finding::Kind::warning, subject, "it " + failure + "; records that need its schemas wait"});
  }
  return out;
}

FoundList check_schema_files(const config::Settings& settings) {
  FoundList out;
  for (const config::Topic& topic : settings.topics) {
    for (const config::Format* const format : {&topic.value, &topic.key}) {
      if (format->schema_file.empty()) continue;
      const auto schema = formats::load_schema(*format);
      if (schema) out.push_back({Finding::Kind::good, "topic " + topic.name, format->schema_file + " can be used"});
      else out.push_back({Finding::Kind::problem, "topic " + topic.name, schema.problem().message});
    }
  }
  return out;
}

}  // namespace inboxd::operations
