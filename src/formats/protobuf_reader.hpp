#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "formats/protobuf_schema.hpp"

namespace inboxd::formats {

/// Reads a message of Protobuf's binary encoding, and writes JSON. The bytes may be hostile: each read is checked
/// against their end, memory is a small multiple of their size, depth and `out` have limits. Returns the problem, which
/// is a sentence; empty: `out` is the whole message. Pure.
std::string read_protobuf(const ProtobufSchema& schema, const google::protobuf::Descriptor& type,
                          std::string_view bytes, config::JsonForm form, std::size_t max_bytes, std::string& out);

}  // namespace inboxd::formats
