#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace inboxd::base {

/// Memory that is freed all at once: the bytes of a batch. Views into the arena live as long as the arena. Not
/// thread-safe.
class Arena final {
 public:
  explicit Arena(std::size_t chunk_bytes = 64 * 1024) : chunk_bytes_{chunk_bytes} {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Room for `size` bytes, not initialised.
  char* allocate(std::size_t size) {
    if (size > left_) grow(size);
    char* const out = next_;
    next_ += size;
    left_ -= size;
    used_ += size;
    return out;
  }

  /// An empty copy has a non-null pointer: null means an absent value.
  std::string_view copy(std::string_view bytes) {
    if (bytes.empty()) return {"", 0};
    char* const out = allocate(bytes.size());
    std::memcpy(out, bytes.data(), bytes.size());
    return {out, bytes.size()};
  }

  /// Bytes handed out.
  std::size_t used() const { return used_; }

 private:
  void grow(std::size_t size) {
    const std::size_t chunk = size > chunk_bytes_ ? size : chunk_bytes_;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk));
    next_ = chunks_.back().get();
    left_ = chunk;
  }

  std::size_t chunk_bytes_;
  std::size_t left_ = 0;
  std::size_t used_ = 0;
  char* next_ = nullptr;
  std::vector<std::unique_ptr<char[]>> chunks_;
};

}  // namespace inboxd::base
