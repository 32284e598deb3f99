#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "event/record.hpp"

namespace inboxd::event {

/// Headers as one byte string, faithful to order, repetition, null values and any bytes: for each header its name's
/// length (int32, network order), the name, its value's length (int32; -1 is null), the value. It is what column
/// `event.headers` holds and what SQL's `inbox.headers_of(bytea)` reads.
std::string pack_headers(const std::vector<Header>& headers);

/// The same into the arena's memory: for the hot path, where nothing else is allocated.
std::string_view pack_headers(const std::vector<Header>& headers, base::Arena& arena);

/// What they take in packed form.
std::size_t packed_size(const std::vector<Header>& headers);

/// The headers in packed form, as views into it; what is cut off at the end is left out.
std::vector<Header> unpack_headers(std::string_view packed);

/// The last header of that name in packed form, or nothing. Allocates nothing.
std::optional<Header> find_packed(std::string_view packed, std::string_view name);

}  // namespace inboxd::event
