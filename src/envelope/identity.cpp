#include "envelope/identity.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/sha256.hpp"
#include "event/copy_digest.hpp"
#include "event/headers.hpp"

namespace inboxd::envelope {
namespace {

constexpr std::size_t max_id = 256;

/// 2bd4a9a5-06f3-411a-8bb2-83357506a25c
constexpr base::Uuid name_space{
    {0x2b, 0xd4, 0xa9, 0xa5, 0x06, 0xf3, 0x41, 0x1a, 0x8b, 0xb2, 0x83, 0x35, 0x75, 0x06, 0xa2, 0x5c}};

void append_part(std::string& name, event::MaybeBytes part) {
  if (part) name.append(std::to_string(part->size())).append(":").append(*part);
  else name.append("-");
  name.append(",");
}

template <class... Parts>
base::Uuid uuid_of(const Parts&... parts) {
  std::string name;
  name.reserve(256);
  (append_part(name, parts), ...);
  return base::uuid_v5(name_space, name);
}

/// Whether all characters are visible ASCII or spaces, as in nearly every id; eight at a time.
bool is_plain(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t high = ones * 0x80;
  const auto odd = [](std::uint64_t eight) {
    const std::uint64_t below_space = (eight - ones * 0x20) & ~eight;
    const std::uint64_t no_delete = eight ^ (ones * 0x7F);
    return ((eight | below_space | ((no_delete - ones) & ~no_delete)) & high) != 0;
  };
  std::uint64_t eight = 0;
  while (text.size() >= sizeof eight) {
    std::memcpy(&eight, text.data(), sizeof eight);
    if (odd(eight)) return false;
    text.remove_prefix(sizeof eight);
  }
  eight = ones * 'x';
  if (!text.empty()) std::memcpy(&eight, text.data(), text.size());
  return !odd(eight);
}

/// Control characters: C0, DEL, and C1 (U+0080 to U+009F), which terminals obey as well.
bool has_controls(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

/// Whether a UUID's text has a digit A to F: of its characters only these lack the bit 0x20.
bool has_upper_case(std::string_view uuid) {
  char all = 0x20;
  for (const char c : uuid) all = static_cast<char>(all & c);
  return all == 0;
}

/// Whether the payload is the payload that an inbox published with these headers.
bool has_payload_of_copy(const event::Record& record) {
  const event::Header* const digest = event::find_header(record.headers, event::copy_digest_header);
  if (digest == nullptr || !digest->value) return false;
  return record.payload ? *digest->value == base::sha256_hex(*record.payload)
                        : *digest->value == event::digest_of_null;
}

/// Gives equal bytes on machines of either byte order.
std::uint64_t little_endian(std::uint64_t number) {
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(number);
  return number;
}

std::uint64_t length_of(event::MaybeBytes bytes) {
  constexpr std::uint64_t null_length = ~std::uint64_t{0};
  return little_endian(bytes ? bytes->size() : null_length);
}

std::uint64_t hash_of(event::MaybeBytes bytes) {
  return little_endian(bytes ? XXH3_64bits(bytes->data(), bytes->size()) : 0);
}

}  // namespace

std::optional<std::string> problem_with_id(std::string_view id) {
  if (id.empty()) return "is empty";
  if (id.size() > max_id) return "has " + std::to_string(id.size()) + " bytes; the limit is 256";
  if (is_plain(id)) return std::nullopt;
  if (!base::is_utf8(id)) return "is not UTF-8";
  if (has_controls(id)) return "has control characters";
  return std::nullopt;
}

Identity identity_of(const Reading& reading, const Input& in) {
  const std::string_view id = *reading.id;
  if (reading.uniqueness == Uniqueness::source_and_id) {
    return {uuid_of("source", *reading.source, id), id, "UUIDv5 of source and id"};
  }
  if (reading.uniqueness == Uniqueness::topic_key_and_id) {
    return {uuid_of("change", in.rules.name_space, in.record.topic, reading.key, id), id,
            "UUIDv5 of namespace, topic, key and position"};
  }
  if (reading.uuid) {
    return {*reading.uuid, has_upper_case(id) ? reading.id : std::nullopt, "the id, a UUID"};
  }
  if (reading.source) return {uuid_of("source", *reading.source, id), id, "UUIDv5 of source and id"};
  return {uuid_of("topic", in.rules.name_space, in.record.topic, id), id, "UUIDv5 of namespace, topic and id"};
}

std::optional<Identity> identity_of_copy(const Reading& reading, const Input& in) {
  const auto& headers = in.record.headers;
  const event::Header* const id = headers.empty() ? nullptr : event::find_header(headers, event::origin_id_header);
  if (id == nullptr || !id->value || event::find_header(headers, event::origin_topic_header) == nullptr) {
    return std::nullopt;
  }
  const auto uuid = base::parse_uuid(*id->value);
  if (!uuid || !has_payload_of_copy(in.record)) return std::nullopt;
  const bool is_other = reading.id && (base::parse_uuid(*reading.id) != uuid || has_upper_case(*reading.id));
  return Identity{*uuid, is_other ? reading.id : std::nullopt, "header inboxd-event-id of an inbox's copy"};
}

Identity identity_by_position(const Input& in) {
  const std::string partition = std::to_string(in.record.partition);
  const std::string offset = std::to_string(in.record.offset);
  return {uuid_of("position", in.rules.name_space, in.record.topic, in.rules.incarnation, partition, offset),
          std::nullopt, "UUIDv5 of namespace, topic, incarnation, partition and offset"};
}

Identity identity_by_digest(const Input& in) {
  return {uuid_of("digest", in.rules.name_space, in.record.topic, in.record.key, in.record.payload), std::nullopt,
          "UUIDv5 of namespace, topic, key and payload"};
}

std::int64_t digest_of(event::MaybeBytes key, event::MaybeBytes payload) {
  const std::array<std::uint64_t, 4> both{length_of(key), hash_of(key), length_of(payload), hash_of(payload)};
  return static_cast<std::int64_t>(XXH3_64bits(both.data(), sizeof both));
}

std::int64_t digest_of(std::int64_t before, event::MaybeBytes part) {
  const std::array<std::uint64_t, 3> both{little_endian(static_cast<std::uint64_t>(before)), length_of(part),
                                          hash_of(part)};
  return static_cast<std::int64_t>(XXH3_64bits(both.data(), sizeof both));
}

}  // namespace inboxd::envelope
