// Hostile bytes under fixed schemas with all kinds of fields: the reader neither crashes nor exceeds its limit, and
// what it writes is JSON.
#include <google/protobuf/any.pb.h>
#include <google/protobuf/api.pb.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/struct.pb.h>

#include "event/json_text.hpp"
#include "formats/protobuf_reader.hpp"
#include "fuzz/target.hpp"

using namespace inboxd;

namespace {

/// The messages of google/protobuf/NAME.proto.
formats::ProtobufSchema schema_of(const google::protobuf::FileDescriptor& file) {
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  const std::array files{formats::ProtobufFile{file.name(), proto.SerializeAsString()}};
  auto schema = formats::ProtobufSchema::of_files(files);
  fuzz::require(schema.ok(), "the schema can be used");
  return std::move(schema).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::size_t max_bytes = 10'000;
  static const std::array schemas{schema_of(*google::protobuf::Struct::descriptor()->file()),
                                  schema_of(*google::protobuf::Api::descriptor()->file()),
                                  schema_of(*google::protobuf::FileDescriptorProto::descriptor()->file()),
                                  schema_of(*google::protobuf::Any::descriptor()->file())};
  fuzz::Input input{data, size};
  const auto form = input.below(2) == 0 ? config::JsonForm::plain : config::JsonForm::standard;
  const auto& schema = schemas[input.below(schemas.size())];
  std::string_view bytes = input.rest();
  std::vector<int> indexes;
  if (!formats::take_message_indexes(bytes, indexes)) return 0;
  const auto* const type = schema.find(indexes);
  if (type == nullptr) return 0;
  std::string json;
  const std::string problem = formats::read_protobuf(schema, *type, bytes, form, max_bytes, json);
  fuzz::require(json.size() <= max_bytes + 8 * size + 200'000, "the JSON is limited");
  if (problem.empty()) fuzz::require(event::json_in(json).is_json(), "what is read is JSON");
  return 0;
}
