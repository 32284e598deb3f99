#include "inbox/id_filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace inboxd::inbox {
namespace {

constexpr std::int64_t ids_per_block = 16;  // of 256 bits
/// Ids whose blocks are loaded before the first is asked about.
constexpr std::size_t ahead = 24;

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

/// Of a word in the block of an id: 0 to 31.
std::uint32_t IdFilter::bit_of(std::uint64_t hash, std::size_t word) {
  return static_cast<std::uint32_t>(hash) * salts[word] >> 27;
}

void IdFilter::add(const base::Uuid& id) {
  const std::uint64_t h = hash(id);
  Block& block = blocks_[place_of(h)];
  for (std::size_t i = 0; i < block.words.size(); ++i) block.words[i] |= std::uint32_t{1} << bit_of(h, i);
}

/// Four words decide about nearly every strange id, and a branch for each word would cost more than the four.
bool IdFilter::has_bits_of(std::uint64_t hash) const {
  const Block& block = blocks_[place_of(hash)];
  std::uint32_t has = 1;
  for (std::size_t i = 0; i < 4; ++i) has &= block.words[i] >> bit_of(hash, i);
  if ((has & 1) == 0) return false;
  for (std::size_t i = 4; i < 8; ++i) has &= block.words[i] >> bit_of(hash, i);
  return (has & 1) != 0;
}

bool IdFilter::may_have(const base::Uuid& id) const { return has_bits_of(hash(id)); }

std::vector<base::Uuid> IdFilter::may_have(const std::vector<base::Uuid>& ids) const {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(ids.size());
  for (const base::Uuid& id : ids) hashes.push_back(hash(id));
  const auto load = [&](std::size_t i) { __builtin_prefetch(&blocks_[place_of(hashes[i])]); };
  std::vector<base::Uuid> out;
  for (std::size_t i = 0; i < std::min(ahead, ids.size()); ++i) load(i);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + ahead < ids.size()) load(i + ahead);
    if (has_bits_of(hashes[i])) out.push_back(ids[i]);
  }
  return out;
}

}  // namespace inboxd::inbox
