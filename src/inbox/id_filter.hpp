#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.hpp"

namespace inboxd::inbox {

/// A set of event ids that answers "no" or "maybe": a split-block Bloom filter of 16 bits an id, which says "maybe" to
/// about one in a thousand other ids. Each id sets a bit in each of the eight words of a block. A producer that does
/// not know the key cannot choose ids that it takes for known.
class IdFilter final {
 public:
  /// Empty. `ids`: how many will be added, at most.
  IdFilter(std::int64_t key, std::int64_t ids);
  /// From `bits()` of a filter with this key.
  IdFilter(std::int64_t key, std::string_view bits);

  void add(const base::Uuid& id);
  bool may_have(const base::Uuid& id) const;
  /// The ids that it may have, in their order. Faster than one by one: their blocks are loaded ahead.
  std::vector<base::Uuid> may_have(const std::vector<base::Uuid>& ids) const;

  std::size_t bytes() const { return blocks_.size() * sizeof(Block); }
  /// As the filter is stored, in the byte order of this machine.
  std::string_view bits() const { return {reinterpret_cast<const char*>(blocks_.data()), bytes()}; }
  static std::size_t bytes_for(std::int64_t ids);

 private:
  struct alignas(32) Block {
    std::array<std::uint32_t, 8> words{};
  };

  std::uint64_t hash(const base::Uuid& id) const;
  std::size_t place_of(std::uint64_t hash) const;
  bool has_bits_of(std::uint64_t hash) const;
  static std::uint32_t bit_of(std::uint64_t hash, std::size_t word);

  std::uint64_t key_;
  std::vector<Block> blocks_;
};

}  // namespace inboxd::inbox
