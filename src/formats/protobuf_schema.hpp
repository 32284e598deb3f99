#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace google::protobuf {
class Descriptor;
class DescriptorPool;
class FileDescriptor;
}  // namespace google::protobuf

namespace inboxd::formats {

/// A file of message types: its name in the imports of others, and its FileDescriptorProto in binary form.
struct ProtobufFile {
  std::string name;
  std::string descriptor;
};

/// The message types of a Protobuf schema. A value whose copies share the types; any thread.
class ProtobufSchema final {
 public:
  /// Files, each after those that it imports; the last one has the messages. Files of google/protobuf and of Confluent
  /// that none of them is are known. The problem is a predicate: "imports a.proto, which is missing".
  static base::Result<ProtobufSchema> of_files(std::span<const ProtobufFile> files);
  /// A FileDescriptorSet, as `protoc --include_imports --descriptor_set_out=FILE` writes it, and one message's name.
  static base::Result<ProtobufSchema> of_set(std::string_view bytes, const std::string& message);

  /// The message type at a path of indexes: of the file's types, then of those within. Null: there is none.
  const google::protobuf::Descriptor* find(std::span<const int> indexes) const;
  /// By its full name, for google.protobuf.Any. Null: there is none.
  const google::protobuf::Descriptor* find(const std::string& name) const;
  /// Of `of_set`; null for others.
  const google::protobuf::Descriptor* message() const { return message_; }

 private:
  std::shared_ptr<const google::protobuf::DescriptorPool> pool_;
  const google::protobuf::FileDescriptor* root_ = nullptr;
  const google::protobuf::Descriptor* message_ = nullptr;
};

/// The limit of the path of a message type.
inline constexpr std::size_t max_message_indexes = 32;

/// Takes the indexes that Confluent's serializer writes before a message. False: the bytes hold none.
bool take_message_indexes(std::string_view& bytes, std::vector<int>& out);

}  // namespace inboxd::formats
