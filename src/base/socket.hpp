#pragma once
#include <unistd.h>

#include <utility>

namespace inboxd::base {

/// Owns a file descriptor and closes it.
class Socket final {
 public:
  explicit Socket(int descriptor = -1) : descriptor_{descriptor} {}
  Socket(Socket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  /// The caller becomes the owner.
  int release() { return std::exchange(descriptor_, -1); }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

}  // namespace inboxd::base
