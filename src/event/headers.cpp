#include "event/headers.hpp"

#include <cstring>

namespace inboxd::event {
namespace {

char* put_length(char* out, std::int32_t length) {
  const auto bits = static_cast<std::uint32_t>(length);
  for (int shift = 24; shift >= 0; shift -= 8) *out++ = static_cast<char>(bits >> shift);
  return out;
}

char* put_bytes(char* out, std::string_view bytes) {
  out = put_length(out, static_cast<std::int32_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

void pack_into(char* out, const std::vector<Header>& headers) {
  for (const Header& header : headers) {
    out = put_bytes(out, header.name);
    out = header.value ? put_bytes(out, *header.value) : put_length(out, -1);
  }
}

/// Takes a length off the front; false where fewer than four bytes are left.
bool take_length(std::string_view& packed, std::int32_t& length) {
  if (packed.size() < 4) return false;
  std::uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits = bits << 8 | static_cast<unsigned char>(packed[static_cast<std::size_t>(i)]);
  packed.remove_prefix(4);
  length = static_cast<std::int32_t>(bits);
  return true;
}

bool take_bytes(std::string_view& packed, std::int32_t length, std::string_view& bytes) {
  if (length < 0 || packed.size() < static_cast<std::size_t>(length)) return false;
  bytes = packed.substr(0, static_cast<std::size_t>(length));
  packed.remove_prefix(bytes.size());
  return true;
}

bool take_header(std::string_view& packed, Header& header) {
  std::int32_t length = 0;
  if (!take_length(packed, length) || !take_bytes(packed, length, header.name)) return false;
  if (!take_length(packed, length)) return false;
  header.value.reset();
  if (length == -1) return true;
  std::string_view value;
  if (!take_bytes(packed, length, value)) return false;
  header.value = value;
  return true;
}

}  // namespace

std::size_t packed_size(const std::vector<Header>& headers) {
  std::size_t size = 0;
  for (const Header& header : headers) size += 8 + header.name.size() + (header.value ? header.value->size() : 0);
  return size;
}

std::string pack_headers(const std::vector<Header>& headers) {
  std::string out(packed_size(headers), '\0');
  pack_into(out.data(), headers);
  return out;
}

std::string_view pack_headers(const std::vector<Header>& headers, base::Arena& arena) {
  const std::size_t size = packed_size(headers);
  char* const out = arena.allocate(size);
  pack_into(out, headers);
  return {out, size};
}

std::vector<Header> unpack_headers(std::string_view packed) {
  std::vector<Header> out;
  Header header;
  while (take_header(packed, header)) out.push_back(header);
  return out;
}

std::optional<Header> find_packed(std::string_view packed, std::string_view name) {
  std::optional<Header> out;
  Header header;
  while (take_header(packed, header)) {
    if (header.name == name) out = header;
  }
  return out;
}

}  // namespace inboxd::event
