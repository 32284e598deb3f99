#pragma once
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <string>

namespace inboxd::test {

/// Writes a line for each action on the database, for tests/model/accept. Without a file it writes nothing.
class Trace final {
 public:
  Trace() = default;
  explicit Trace(const std::string& path) : to_{std::make_shared<std::ofstream>(path)} {}

  template <class... Words>
  void write(const char* action, const Words&... words) const {
    if (to_ == nullptr) return;
    *to_ << action;
    ((*to_ << ' ' << words), ...);
    *to_ << '\n';
  }
  bool is_on() const { return to_ != nullptr; }

 private:
  std::shared_ptr<std::ofstream> to_;
};

inline std::string text_of(const std::set<std::int64_t>& offsets) {
  std::string out;
  for (const auto offset : offsets) out += (out.empty() ? "" : ",") + std::to_string(offset);
  return out.empty() ? "-" : out;
}

/// Milliseconds; `never` for the end of time.
inline std::string text_of(std::chrono::steady_clock::time_point time) {
  using std::chrono::milliseconds;
  if (time == std::chrono::steady_clock::time_point::max()) return "never";
  return std::to_string(std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

}  // namespace inboxd::test
