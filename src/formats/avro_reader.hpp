#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "formats/avro_schema.hpp"

namespace inboxd::formats {

/// Reads Avro's binary encoding by its writer's schema, and writes JSON. The bytes may be hostile. Each read is checked
/// against their end. Each step writes something to `out`, which has a limit: counts of blocks and circles of types end
/// there. Returns the problem, which is a sentence; empty: `out` is the
/// whole value. Pure.
std::string read_avro(const AvroSchema& schema, std::string_view bytes, config::JsonForm form, std::size_t max_bytes,
                      std::string& out);

}  // namespace inboxd::formats
