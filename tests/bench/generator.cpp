#include "generator.hpp"

#include <cstring>

namespace inboxd::bench {
namespace {

constexpr std::string_view payload_begin = R"({"order":")";
constexpr std::string_view payload_middle = R"(","text":")";
constexpr std::string_view payload_end = R"("})";
constexpr std::size_t number_digits = 16;
constexpr char digits[] = "0123456789abcdef";

/// A bijection that scatters neighbours far apart (the finalizer of SplitMix64).
std::uint64_t scattered(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Generator::Generator(std::uint64_t seed, std::size_t payload_bytes) : seed_{seed}, payload_bytes_{payload_bytes} {}

base::Uuid Generator::id(std::int64_t number) const {
  const auto n = static_cast<std::uint64_t>(number);
  const std::uint64_t high = scattered(n ^ scattered(seed_));
  const std::uint64_t low = scattered(high + n);
  base::Uuid out;
  std::memcpy(out.bytes.data(), &high, 8);
  std::memcpy(out.bytes.data() + 8, &low, 8);
  out.bytes[6] = static_cast<std::uint8_t>((out.bytes[6] & 0x0f) | 0x40);
  out.bytes[8] = static_cast<std::uint8_t>((out.bytes[8] & 0x3f) | 0x80);
  return out;
}

void Generator::write_key(const base::Uuid& id, char* out) {
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
    *out++ = digits[id.bytes[i] >> 4];
    *out++ = digits[id.bytes[i] & 15];
  }
}

void Generator::write_payload(std::int64_t number, std::string& out) const {
  out.assign(payload_begin);
  for (std::size_t i = number_digits; i-- > 0;) out += digits[(static_cast<std::uint64_t>(number) >> (4 * i)) & 15];
  out += payload_middle;
  const std::size_t fixed = out.size() + payload_end.size();
  if (payload_bytes_ > fixed) out.append(payload_bytes_ - fixed, 'x');
  out += payload_end;
}

}  // namespace inboxd::bench
