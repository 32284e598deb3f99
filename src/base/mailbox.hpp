#pragma once
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace inboxd::base {

/// Messages from any thread to one reader. Unbounded: only for control messages, which the senders limit.
template <class Message>
class Mailbox final {
 public:
  /// The sending thread calls `wake` after each message.
  explicit Mailbox(std::function<void()> wake) : wake_{std::move(wake)} {}

  void send(Message message) {
    {
      const std::lock_guard lock{mutex_};
      messages_.push_back(std::move(message));
    }
    wake_();
  }
  std::vector<Message> take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(messages_, {});
  }

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<Message> messages_;
};

}  // namespace inboxd::base
