#include "inbox/id_filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace inboxd::inbox {
namespace {

constexpr std::int64_t ids_per_block = 16;  // of 256 bits

/// Odd numbers, one for each word, so that the bits of an id differ between words (as in Apache Parquet's filters).
constexpr std::array<std::uint32_t, 8> salts{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                             0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

__extension__ typedef unsigned __int128 Wide;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::size_t blocks_for(std::int64_t ids) {
  return static_cast<std::size_t>(std::max<std::int64_t>((ids + ids_per_block - 1) / ids_per_block, 1));
}

}  // namespace

IdFilter::IdFilter(std::int64_t key, std::int64_t ids)
    : key_{static_cast<std::uint64_t>(key)}, blocks_(blocks_for(ids)) {}

IdFilter::IdFilter(std::int64_t key, std::string_view bits)
    : key_{static_cast<std::uint64_t>(key)}, blocks_(std::max<std::size_t>(bits.size() / sizeof(Block), 1)) {
  std::memcpy(blocks_.data(), bits.data(), std::min(bits.size(), bytes()));
}

std::size_t IdFilter::bytes_for(std::int64_t ids) { return blocks_for(ids) * sizeof(Block); }

std::uint64_t IdFilter::hash(const base::Uuid& id) const {
  std::uint64_t high = 0, low = 0;
  std::memcpy(&high, id.bytes.data(), sizeof high);
  std::memcpy(&low, id.bytes.data() + sizeof high, sizeof low);
  // Two rounds with the key on both sides: an id alone tells neither its block nor its bits.
  const std::uint64_t first = fold(high ^ key_, low ^ std::rotl(key_, 32) ^ 0x9e3779b97f4a7c15);
  return fold(first ^ key_ ^ low, 0xd6e8feb86659fd93 ^ (key_ << 1 | 1));
}

std::size_t IdFilter::place_of(std::uint64_t hash) const {
  return static_cast<std::size_t>((hash >> 32) * blocks_.size() >> 32);
}

IdFilter::Words IdFilter::mask_of(std::uint64_t hash) {
  const auto low = static_cast<std::uint32_t>(hash);
  Words out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::uint32_t{1} << (low * salts[i] >> 27);
  return out;
}

void IdFilter::add(const base::Uuid& id) {
  const std::uint64_t h = hash(id);
  Block& block = blocks_[place_of(h)];
  const Words mask = mask_of(h);
  for (std::size_t i = 0; i < mask.size(); ++i) block.words[i] |= mask[i];
}

bool IdFilter::may_have(const base::Uuid& id) const {
  const std::uint64_t h = hash(id);
  const Block& block = blocks_[place_of(h)];
  const Words mask = mask_of(h);
  std::uint32_t missing = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) missing |= mask[i] & ~block.words[i];
  return missing == 0;
}

}  // namespace inboxd::inbox
