#include "formats/protobuf_schema.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace inboxd::formats {
namespace {

namespace pb = google::protobuf;

/// Options of Confluent's, which no value needs and no registry gives.
constexpr std::string_view confluent_options = "confluent/meta.proto";
constexpr std::string_view google_folder = "google/protobuf/";
constexpr std::string_view confluent_decimal = "confluent/type/decimal.proto";

/// Keeps the first complaint.
class Complaints final : public pb::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string&, const std::string& element, const pb::Message*, ErrorLocation,
                const std::string& message) override {
    if (first.empty()) first = base::escape_controls(base::shorten(element + ": " + message, 200));
  }
  void AddWarning(const std::string&, const std::string&, const pb::Message*, ErrorLocation,
                  const std::string&) override {}
  std::string first;
};

pb::FileDescriptorProto decimal_of_confluent() {
  pb::FileDescriptorProto out;
  out.set_name(std::string{confluent_decimal});
  out.set_package("confluent.type");
  out.set_syntax("proto3");
  auto& decimal = *out.add_message_type();
  decimal.set_name("Decimal");
  const auto add = [&](const char* name, int number, pb::FieldDescriptorProto::Type type) {
    auto& field = *decimal.add_field();
    field.set_name(name);
    field.set_number(number);
    field.set_type(type);
    field.set_label(pb::FieldDescriptorProto::LABEL_OPTIONAL);
  };
  add("value", 1, pb::FieldDescriptorProto::TYPE_BYTES);
  add("precision", 2, pb::FieldDescriptorProto::TYPE_UINT32);
  add("scale", 3, pb::FieldDescriptorProto::TYPE_INT32);
  return out;
}

/// A file that a registry does not give, because everybody has it.
std::optional<pb::FileDescriptorProto> known_file(const std::string& name) {
  if (name == confluent_decimal) return decimal_of_confluent();
  if (!name.starts_with(google_folder)) return std::nullopt;
  const pb::FileDescriptor* const found = pb::DescriptorPool::generated_pool()->FindFileByName(name);
  if (found == nullptr) return std::nullopt;
  pb::FileDescriptorProto out;
  found->CopyTo(&out);
  return out;
}

/// Without an import at an index; later indexes move.
void drop_index(pb::RepeatedField<int>& indexes, int dropped) {
  const pb::RepeatedField<int> before = indexes;
  indexes.Clear();
  for (const int index : before) {
    if (index != dropped) indexes.Add(index > dropped ? index - 1 : index);
  }
}

void drop_confluent_options(pb::FileDescriptorProto& file) {
  for (int i = file.dependency_size() - 1; i >= 0; --i) {
    if (file.dependency(i) != confluent_options) continue;
    file.mutable_dependency()->DeleteSubrange(i, 1);
    drop_index(*file.mutable_public_dependency(), i);
    drop_index(*file.mutable_weak_dependency(), i);
  }
}

/// Adds files to a pool, with the known files that they import.
class Builder final {
 public:
  explicit Builder(pb::DescriptorPool& pool) : pool_{pool} {
    [[maybe_unused]] static auto* const earlier = pb::SetLogHandler(nullptr);  // it writes to stderr by itself
  }

  /// Null: `problem` says why.
  const pb::FileDescriptor* add(pb::FileDescriptorProto file) {
    if (const pb::FileDescriptor* const earlier = pool_.FindFileByName(file.name())) return earlier;
    if (file.name().starts_with(google_folder)) {  // a schema cannot change the types with a form of their own
      auto known = known_file(file.name());
      if (!known) {
        problem = "has a file " + base::escape_controls(base::shorten(file.name(), 100)) + ", which is unknown";
        return nullptr;
      }
      file = *std::move(known);
    }
    drop_confluent_options(file);
    for (const std::string& name : file.dependency()) {
      if (pool_.FindFileByName(name) != nullptr) continue;
      auto known = known_file(name);
      if (!known) {
        problem = "imports " + base::escape_controls(base::shorten(name, 100)) + ", which is missing";
        return nullptr;
      }
      if (add(*std::move(known)) == nullptr) return nullptr;
    }
    Complaints complaints;
    const pb::FileDescriptor* const out = pool_.BuildFileCollectingErrors(file, &complaints);
    if (out == nullptr) problem = "cannot be used: " + complaints.first;
    return out;
  }

  std::string problem;

 private:
  pb::DescriptorPool& pool_;
};

base::Problem problem_of(std::string text) { return base::Problem{std::move(text)}; }

}  // namespace

base::Result<ProtobufSchema> ProtobufSchema::of_files(std::span<const ProtobufFile> files) {
  const auto pool = std::make_shared<pb::DescriptorPool>();
  Builder builder{*pool};
  ProtobufSchema out;
  for (const ProtobufFile& each : files) {
    pb::FileDescriptorProto file;
    if (!file.ParseFromString(each.descriptor)) return problem_of("is no descriptor of Protobuf");
    file.set_name(each.name);
    out.root_ = builder.add(std::move(file));
    if (out.root_ == nullptr) return problem_of(builder.problem);
  }
  if (out.root_ == nullptr || out.root_->message_type_count() == 0) return problem_of("has no message");
  out.pool_ = pool;
  return out;
}

base::Result<ProtobufSchema> ProtobufSchema::of_set(std::string_view bytes, const std::string& message) {
  pb::FileDescriptorSet set;
  if (!set.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || set.file().empty()) {
    return problem_of("is no set of descriptors; write it with protoc --include_imports --descriptor_set_out=FILE");
  }
  const auto pool = std::make_shared<pb::DescriptorPool>();
  Builder builder{*pool};
  for (pb::FileDescriptorProto& file : *set.mutable_file()) {
    if (builder.add(std::move(file)) == nullptr) return problem_of(builder.problem);
  }
  ProtobufSchema out;
  out.pool_ = pool;
  out.message_ = pool->FindMessageTypeByName(message);
  if (out.message_ == nullptr) return problem_of("has no message " + message);
  return out;
}

const pb::Descriptor* ProtobufSchema::find(std::span<const int> indexes) const {
  const pb::Descriptor* out = nullptr;
  for (const int index : indexes) {
    const int count = out == nullptr ? root_->message_type_count() : out->nested_type_count();
    if (index < 0 || index >= count) return nullptr;
    out = out == nullptr ? root_->message_type(index) : out->nested_type(index);
  }
  return out;
}

const pb::Descriptor* ProtobufSchema::find(const std::string& name) const {
  return pool_->FindMessageTypeByName(name);
}

namespace {

/// A zigzag number of at most 32 bits.
bool take_number(std::string_view& bytes, int& out) {
  std::uint64_t bits = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (bytes.empty()) return false;
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    bits |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) != 0) continue;
    if (bits > UINT32_MAX) return false;
    const auto small = static_cast<std::uint32_t>(bits);
    out = static_cast<int>(small >> 1) ^ -static_cast<int>(small & 1);
    return true;
  }
  return false;
}

}  // namespace

bool take_message_indexes(std::string_view& bytes, std::vector<int>& out) {
  int count = 0;
  out.clear();
  if (!take_number(bytes, count) || count < 0 || static_cast<std::size_t>(count) > max_message_indexes) return false;
  if (count == 0) out.push_back(0);  // short for the first message
  for (; count > 0; --count) {
    out.push_back(0);
    if (!take_number(bytes, out.back())) return false;
  }
  return true;
}

}  // namespace inboxd::formats
