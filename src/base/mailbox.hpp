#pragma once
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace inboxd::base {

/// Messages from any thread to one that empties it at its own pace. Not for data: senders bound what they send.
template <class Letter>
class Mailbox final {
 public:
  /// `wake` is called after each letter by the thread that sends it.
  explicit Mailbox(std::function<void()> wake) : wake_{std::move(wake)} {}

  void send(Letter letter) {
    {
      const std::lock_guard lock{mutex_};
      letters_.push_back(std::move(letter));
    }
    wake_();
  }
  std::vector<Letter> take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(letters_, {});
  }

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<Letter> letters_;
};

}  // namespace inboxd::base
