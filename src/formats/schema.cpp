#include "formats/schema.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace inboxd::formats {
namespace {

constexpr std::size_t max_file = 16 << 20;

/// nullopt: `errno` says why.
std::optional<std::string> read(const std::string& path) {
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::ostringstream out;
  if (!(out << file.rdbuf()) || file.bad()) return std::nullopt;
  return std::move(out).str();
}

}  // namespace

base::Result<Schema> load_schema(const config::Format& format) {
  const std::string& path = format.schema_file;
  const auto problem = [&](const std::string& why) { return base::Problem{"schema_file " + path + " " + why}; };
  const auto bytes = read(path);
  if (!bytes) return problem("cannot be read: " + std::string{errno == 0 ? "it is empty" : std::strerror(errno)});
  if (bytes->size() > max_file) return problem("has more than " + std::to_string(max_file) + " bytes");
  if (format.kind == config::FormatKind::avro) {
    auto avro = parse_avro(*bytes);
    if (!avro) return problem(avro.problem().message);
    return Schema{std::move(avro).value(), {}};
  }
  auto protobuf = ProtobufSchema::of_set(*bytes, format.message);
  if (!protobuf) return problem(protobuf.problem().message);
  return Schema{std::move(protobuf).value(), {}};
}

}  // namespace inboxd::formats
