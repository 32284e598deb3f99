#include "trace/context.hpp"

#include <algorithm>
#include <random>

#include "base/text.hpp"

namespace inboxd::trace {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;  // upper case is invalid by the W3C
}

template <std::size_t Size>
bool read_hex(std::string_view text, std::array<std::uint8_t, Size>& out) {
  if (text.size() != 2 * Size) return false;
  for (std::size_t i = 0; i < Size; ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

template <std::size_t Size>
bool is_zero(const std::array<std::uint8_t, Size>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

template <std::size_t Size>
std::string hex_text(const std::array<std::uint8_t, Size>& bytes) {
  return base::hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::optional<Context> parse_traceparent(std::string_view text) {
  if (text.size() < traceparent_length || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  Context out;
  if (!read_hex(text.substr(0, 2), version) || !read_hex(text.substr(3, 32), out.trace) ||
      !read_hex(text.substr(36, 16), out.span) || !read_hex(text.substr(53, 2), flags)) {
    return std::nullopt;
  }
  const bool is_longer = text.size() > traceparent_length;
  const bool may_be_longer = version[0] != 0 && is_longer && text[traceparent_length] == '-';
  if (version[0] == 0xff || (is_longer && !may_be_longer)) return std::nullopt;
  if (is_zero(out.trace) || is_zero(out.span)) return std::nullopt;
  out.is_sampled = (flags[0] & 1) != 0;
  return out;
}

std::string traceparent_of(const Context& context) {
  return "00-" + hex_of(context.trace) + "-" + hex_of(context.span) + (context.is_sampled ? "-01" : "-00");
}

std::string hex_of(const TraceId& id) { return hex_text(id); }
std::string hex_of(const SpanId& id) { return hex_text(id); }

SpanId random_span_id() {
  thread_local std::mt19937_64 generator{(std::uint64_t{std::random_device{}()} << 32) ^ std::random_device{}()};
  SpanId out{};
  do {
    std::uint64_t bits = generator();
    for (std::uint8_t& byte : out) {
      byte = static_cast<std::uint8_t>(bits);
      bits >>= 8;
    }
  } while (is_zero(out));
  return out;
}

}  // namespace inboxd::trace
