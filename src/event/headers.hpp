#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "event/record.hpp"

namespace inboxd::event {

/// In a copy of handler `kafka` and in a dead letter: the event's id, and the topic that it came from.
inline constexpr std::string_view origin_id_header = "inboxd-event-id";
inline constexpr std::string_view origin_topic_header = "inboxd-topic";

/// Headers as a single byte string, faithful to order, repetition, null values and any bytes: for each header its
/// name's length (int32, network order), the name, its value's length (int32; -1 is null), the value. The format of
/// column `event.headers`, read by SQL's `inbox.headers_of(bytea)`.
std::string pack_headers(const std::vector<Header>& headers);

/// Packs into the arena's memory: the hot path allocates nothing else.
std::string_view pack_headers(const std::vector<Header>& headers, base::Arena& arena);

/// Their size in packed form.
std::size_t packed_size(const std::vector<Header>& headers);

/// Unpacks headers, as views into `packed`. A header that is truncated at the end is left out.
std::vector<Header> unpack_headers(std::string_view packed);

/// The last header of that name in packed form, or nothing. Allocates nothing.
std::optional<Header> find_packed(std::string_view packed, std::string_view name);

}  // namespace inboxd::event
