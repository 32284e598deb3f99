#pragma once
#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "formats/schema.hpp"
#include "formats/schema_id.hpp"

namespace inboxd::formats {

/// Answers of a registry.
struct RegistryAnswer {
  std::optional<Schema> schema;
  std::string misfit;     ///< the registry has no such schema, or it cannot be used
  bool is_unknown = false;
  std::string failure;    ///< nothing is known about the schema
  bool is_of_id = false;  ///< the failure: the registry answers other requests
};

/// Requests to a schema registry with the API of Confluent, each with a connection of its own. Any thread.
class RegistryClient final {
 public:
  explicit RegistryClient(config::Registry settings) : settings_{std::move(settings)} {}

  /// A schema with all schemas that it refers to. Blocks for `timeout` a request.
  RegistryAnswer fetch(const SchemaId& id);
  /// The failure of the registry; empty: it answers with its subjects.
  std::string probe();
  /// Requests end within a second, and fail from now on.
  void cancel() { cancelled_ = true; }

  const config::Registry& settings() const { return settings_; }
  /// Since the start.
  int requests() const { return requests_; }

 private:
  struct Part;
  struct References;
  Part ask(const std::string& path);
  Part ask_schema(const std::string& path);
  bool add_references(const nlohmann::json& schema, References& to, RegistryAnswer& problem);
  base::Result<ProtobufSchema> protobuf_of(Part& root, References& references, RegistryAnswer& problem);
  std::string refusal(int status) const;
  std::string subject_of(const SchemaId& id);

  const config::Registry settings_;
  std::atomic<bool> cancelled_{false};
  std::atomic<int> requests_{0};
};

}  // namespace inboxd::formats
