#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace inboxd::base {

/// Messages from any thread to a single reader. Unbounded: only for control messages, which the senders limit.
template <class Message>
class Mailbox final {
 public:
  /// The sending thread calls `wake` after each message.
  explicit Mailbox(std::function<void()> wake) : wake_{std::move(wake)} {}

  void send(Message message) {
    {
      const Lock lock{mutex_};
      messages_.push_back(std::move(message));
    }
    wake_();
  }
  std::vector<Message> take() {
    const Lock lock{mutex_};
    return std::exchange(messages_, {});
  }

 private:
  const std::function<void()> wake_;
  Mutex mutex_;
  std::vector<Message> messages_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::base
