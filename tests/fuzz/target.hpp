#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// The parts of every fuzz target. A target is a source with LLVMFuzzerTestOneInput: no bytes may crash it, or break a
/// promise that it requires.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace inboxd::fuzz {

/// Ends the process, so that the fuzzer keeps the input.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// An input, read from its beginning. After its end come zeros and empty texts.
class Input final {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_{reinterpret_cast<const char*>(data), size} {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto out = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return out;
  }
  std::uint32_t number() {
    std::uint32_t out = 0;
    for (int i = 0; i < 4; ++i) out = out << 8 | byte();
    return out;
  }
  std::size_t below(std::size_t limit) { return byte() % limit; }
  /// The bytes up to the next 0xFE, which no UTF-8 text contains.
  std::string_view text() {
    const auto end = rest_.find('\xFE');
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return out;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace inboxd::fuzz
