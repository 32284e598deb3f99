#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace inboxd::dispatcher {

/// A hash table for keys that are hashes themselves and never 0: open addressing, linear probing. std::unordered_map
/// allocates for each key, which costs more than all other work for an event in order. No lock.
template <class Value>
class KeyTable final {
 public:
  using Key = std::uint64_t;

  /// The value of a key; null: it has none. Valid until the next insert or erase.
  Value* find(Key key) {
    const std::size_t at = place_of(key);
    return slots_[at].key == key ? &slots_[at].value : nullptr;
  }
  const Value* find(Key key) const { return const_cast<KeyTable*>(this)->find(key); }
  bool contains(Key key) const { return find(key) != nullptr; }

  /// Begins to load the key's place into the processor's cache.
  void prefetch(Key key) const { __builtin_prefetch(&slots_[key & mask()]); }

  /// The value of a key, and whether it is new.
  std::pair<Value*, bool> insert(Key key) {
    std::size_t at = place_of(key);
    if (slots_[at].key == key) return {&slots_[at].value, false};
    if (2 * (size_ + 1) > slots_.size()) {
      grow();
      at = place_of(key);
    }
    ++size_;
    slots_[at] = {key, Value{}};
    return {&slots_[at].value, true};
  }

  void erase(Key key) {
    std::size_t hole = place_of(key);
    if (slots_[hole].key != key) return;
    --size_;
    // Later keys of the cluster move up, unless that would put them before their own place.
    for (std::size_t at = next(hole); slots_[at].key != 0; at = next(at)) {
      const std::size_t wanted = slots_[at].key & mask();
      if (((at - wanted) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    slots_[hole] = {};
  }

  /// Visits every (key, value); returns the keys for which `condition` holds.
  template <class Condition>
  std::vector<Key> keys_if(Condition&& condition) const {
    std::vector<Key> out;
    for (const Slot& slot : slots_) {
      if (slot.key != 0 && condition(slot.value)) out.push_back(slot.key);
    }
    return out;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    Key key = 0;
    Value value{};
  };

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }

  /// Of the key, or the free slot where it would be.
  std::size_t place_of(Key key) const {
    std::size_t at = key & mask();
    while (slots_[at].key != 0 && slots_[at].key != key) at = next(at);
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.key != 0) slots_[place_of(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t size_ = 0;
};

}  // namespace inboxd::dispatcher
