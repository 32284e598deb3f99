#pragma once
#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::formats {

/// A field of a message as it was sent. It points into the message's bytes.
struct WireField {
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::string_view bytes = {};  ///< of text, bytes, a message, or packed values
  std::uint64_t number = 0;  ///< of any other value: its bits
  bool is_packed = false;
};

/// The known fields of a message, by the order of their declaration, then by their order in the bytes. A member of a
/// oneof is left out if another one came later. Returns the problem; empty: all were read.
std::string wire_fields(const google::protobuf::Descriptor& type, std::string_view bytes,
                        std::vector<WireField>& out);

/// Of a type that Protobuf's JSON writes in a form of its own. A schema's own type of that name is none.
google::protobuf::Descriptor::WellKnownType known_type_of(const google::protobuf::Descriptor& type);

/// Takes a packed value of the field off its bytes. False: they end within it.
bool take_packed(WireField& field, std::uint64_t& number);

}  // namespace inboxd::formats
