#include "inbox/id_filter.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

namespace inboxd::inbox {
namespace {

constexpr std::int64_t ids_per_block = 14;
constexpr int significant_bits = 5;  ///< of a number of blocks

/// Odd numbers, one for each word, so that the bits of an id differ between words (as in Apache Parquet's filters).
constexpr std::array<std::uint32_t, 8> salts{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                             0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

__extension__ typedef unsigned __int128 Wide;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

HashedId hash_of(std::uint64_t key, const base::Uuid& id) {
  std::uint64_t high = 0, low = 0;
  std::memcpy(&high, id.bytes.data(), sizeof high);
  std::memcpy(&low, id.bytes.data() + sizeof high, sizeof low);
  // Two rounds with the key on both sides: an id alone tells neither its block nor its bits.
  const std::uint64_t first = fold(high ^ key, low ^ std::rotl(key, 32) ^ 0x9e3779b97f4a7c15);
  const std::uint64_t hash = fold(first ^ key ^ low, 0xd6e8feb86659fd93 ^ (key << 1 | 1));
  HashedId out{static_cast<std::uint32_t>(hash >> 32), {}};
  for (std::size_t i = 0; i < salts.size(); ++i) {
    const std::uint32_t bit = static_cast<std::uint32_t>(hash) * salts[i] >> 27;  // 0 to 31
    out.bits[i / 2] |= std::uint64_t{1} << (i % 2 * 32 + bit);
  }
  return out;
}

/// A question reads a cache line here and there. With pages of 4 KiB most of them miss the processor's table of pages,
/// too. For memory that is not used yet; a kernel that refuses is only slower.
void ask_for_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::size_t page = std::size_t{1} << 21;
  void* first = memory;
  std::size_t left = bytes;
  if (std::align(page, page, first, left) != nullptr) madvise(first, left / page * page, MADV_HUGEPAGE);
}

std::size_t blocks_for(std::int64_t ids) {
  const auto blocks = static_cast<std::size_t>(std::max<std::int64_t>((ids + ids_per_block - 1) / ids_per_block, 1));
  const int shift = std::max(static_cast<int>(std::bit_width(blocks)) - significant_bits, 0);
  const std::size_t step = std::size_t{1} << shift;
  return (blocks + step - 1) / step * step;
}

}  // namespace

std::vector<HashedId> hashed(std::int64_t key, const std::vector<base::Uuid>& ids) {
  std::vector<HashedId> out;
  out.reserve(ids.size());
  for (const base::Uuid& id : ids) out.push_back(hash_of(static_cast<std::uint64_t>(key), id));
  return out;
}

IdFilter::IdFilter(std::int64_t key, std::size_t lanes, std::size_t blocks) : key_{key}, lanes_{lanes} {
  blocks_.reserve(blocks);
  ask_for_huge_pages(blocks_.data(), blocks * sizeof(Block));
  blocks_.resize(blocks);
}

IdFilter::IdFilter(std::int64_t key, std::int64_t ids) : IdFilter{key, 1, blocks_for(ids)} {}

IdFilter::IdFilter(std::int64_t key, std::string_view bits)
    : IdFilter{key, 1, std::max<std::size_t>(bits.size() / sizeof(Block), 1)} {
  std::memcpy(blocks_.data(), bits.data(), std::min(bits.size(), bytes()));
}

IdFilter::IdFilter(const std::vector<std::shared_ptr<const IdFilter>>& filters)
    : IdFilter{filters.front()->key_, filters.size(), filters.size() * filters.front()->blocks_.size()} {
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    const auto& from = filters[lane]->blocks_;
    for (std::size_t row = 0; row < from.size(); ++row) blocks_[row * lanes_ + lane] = from[row];
  }
}

std::size_t IdFilter::bytes_for(std::int64_t ids) { return blocks_for(ids) * sizeof(Block); }

void IdFilter::add(const base::Uuid& id) {
  const HashedId where = hash_of(static_cast<std::uint64_t>(key_), id);
  Block& block = blocks_[row_of(where)];
  for (std::size_t i = 0; i < block.words.size(); ++i) block.words[i] |= where.bits[i];
}

bool IdFilter::may_have(const base::Uuid& id) const {
  bool out = false;
  ask(hashed(key_, {id}), [&](std::size_t, std::size_t) { out = true; });
  return out;
}

}  // namespace inboxd::inbox
