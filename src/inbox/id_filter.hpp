#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/uuid.hpp"

namespace inboxd::inbox {

/// Where filters with a key look for an id: which block of all, as a share of 2^32, and which of its 256 bits.
struct HashedId {
  std::uint32_t place = 0;
  std::array<std::uint64_t, 4> bits{};
};
/// For all filters with that key, in the order of the ids.
std::vector<HashedId> hashed(std::int64_t key, const std::vector<base::Uuid>& ids);

/// A set of event ids that answers "no" or "maybe": a split-block Bloom filter of about 19 bits an id, which says
/// "maybe" to about three in ten thousand other ids. Each id sets a bit in each of the eight words of a block. A
/// producer that does not know the key cannot choose ids that it takes for known. Several filters with the same key and
/// size can be one, side by side: then a question reads neighbours.
class IdFilter final {
 public:
  /// Empty. `ids`: how many will be added, at most.
  IdFilter(std::int64_t key, std::int64_t ids);
  /// From `bits()` of a filter with this key.
  IdFilter(std::int64_t key, std::string_view bits);
  /// Side by side: lane i is of `filters[i]`. All have the key and the size of the first, and one lane.
  explicit IdFilter(const std::vector<std::shared_ptr<const IdFilter>>& filters);

  void add(const base::Uuid& id);
  /// Calls `found(lane, i)` for each lane that may have `ids[i]`, hashed with this filter's key. The blocks of ids are
  /// loaded ahead, so that many ids at once cost less.
  template <class Found>
  void ask(const std::vector<HashedId>& ids, Found found) const;
  /// Of a filter with one lane.
  bool may_have(const base::Uuid& id) const;

  std::int64_t key() const { return key_; }
  std::size_t lanes() const { return lanes_; }
  std::size_t bytes() const { return blocks_.size() * sizeof(Block); }
  /// As a filter with one lane is stored, in the byte order of this machine.
  std::string_view bits() const { return {reinterpret_cast<const char*>(blocks_.data()), bytes()}; }
  /// Rounded up by 2 % on average, so that generations of nearly the same size have filters of one size.
  static std::size_t bytes_for(std::int64_t ids);

 private:
  struct alignas(32) Block {
    std::array<std::uint64_t, 4> words{};

    bool has(const std::array<std::uint64_t, 4>& bits) const {
      std::uint64_t missing = 0;  // without a branch for each word: nearly all ids are strange
      for (std::size_t i = 0; i < words.size(); ++i) missing |= bits[i] & ~words[i];
      return missing == 0;
    }
  };

  IdFilter(std::int64_t key, std::size_t lanes, std::size_t blocks);

  /// The first lane's block.
  std::size_t row_of(const HashedId& id) const {
    return static_cast<std::size_t>(std::uint64_t{id.place} * (blocks_.size() / lanes_) >> 32) * lanes_;
  }
  void load(const HashedId& id) const {
    const Block* const row = &blocks_[row_of(id)];
    for (std::size_t lane = 0; lane < lanes_; lane += 2) __builtin_prefetch(row + lane);  // two to a cache line
  }

  std::int64_t key_;
  std::size_t lanes_ = 1;
  std::vector<Block> blocks_;
};

template <class Found>
void IdFilter::ask(const std::vector<HashedId>& ids, Found found) const {
  const std::size_t ahead = lanes_ > 1 ? 8 : 24;  // ids; the lines that are loaded ahead must stay in the cache
  for (std::size_t i = 0; i < ids.size() && i < ahead; ++i) load(ids[i]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + ahead < ids.size()) load(ids[i + ahead]);
    const Block* const row = &blocks_[row_of(ids[i])];
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (row[lane].has(ids[i].bits)) found(lane, i);
    }
  }
}

}  // namespace inboxd::inbox
