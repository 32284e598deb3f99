#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::trace {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

/// A span's identity, as the W3C's `traceparent` carries it between processes.
struct Context {
  TraceId trace{};
  SpanId span{};
  bool is_sampled = false;
  bool operator==(const Context&) const = default;
};

constexpr std::size_t traceparent_length = 55;

/// `00-<32 hex>-<16 hex>-<2 hex>`; nullopt if invalid by the W3C. Of later versions the known part is read.
std::optional<Context> parse_traceparent(std::string_view text);

/// In the same form, 55 characters.
std::string traceparent_of(const Context& context);

/// Lower-case hexadecimal digits.
std::string hex_of(const TraceId& id);
std::string hex_of(const SpanId& id);

/// Never zero. Unique, not secret. Any thread.
SpanId random_span_id();

}  // namespace inboxd::trace
