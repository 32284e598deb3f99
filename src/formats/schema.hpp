#pragma once
#include <string>
#include <variant>

#include "base/result.hpp"
#include "config/settings.hpp"
#include "formats/avro_schema.hpp"
#include "formats/protobuf_schema.hpp"

namespace inboxd::formats {

/// A schema of a registry or a file. A value.
struct Schema {
  std::variant<AvroSchema, ProtobufSchema> types;
  std::string subject;  ///< under which it is registered, if the registry said it
};

/// Reads `schema_file`. The problem is a sentence that names the file. Blocks on the disk.
base::Result<Schema> load_schema(const config::Format& format);

}  // namespace inboxd::formats
