// SPDX-License-Identifier: Apache-2.0
//
// Common parts of the C++ veneer. Include <inboxd/handler.hpp>.
#pragma once

#include <inboxd/handler.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

// Keeps a template's statics private to its shared object. Without -fvisibility=hidden a process has a single copy of
// them (STB_GNU_UNIQUE): of two plugins with classes of the same name, the second would get the table of the first.
#if defined(__GNUC__)
#define INBOXD_HIDDEN __attribute__((visibility("hidden")))
#else
#define INBOXD_HIDDEN
#endif

namespace inboxd {

using Milliseconds = std::chrono::milliseconds;
using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
using MaybeText = std::optional<std::string_view>;  // null differs from empty

namespace detail {

inline inboxd_bytes bytes(std::string_view text) { return {text.data() == nullptr ? "" : text.data(), text.size()}; }
inline std::string_view view(inboxd_bytes bytes) { return {bytes.data, bytes.size}; }
inline MaybeText maybe(inboxd_bytes bytes) { return bytes.data == nullptr ? MaybeText{} : MaybeText{view(bytes)}; }
inline std::optional<Time> time(std::int64_t microseconds) {
  if (microseconds == INBOXD_NO_TIME) return std::nullopt;
  return Time{std::chrono::microseconds{microseconds}};
}

}  // namespace detail
}  // namespace inboxd
