#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

namespace inboxd::bench {

/// A bounded queue between threads; `put` waits for space. After `close`, `take` returns the rest, and `put` drops
/// items.
template <class Item>
class Queue final {
 public:
  explicit Queue(std::size_t limit) : limit_{limit} {}

  void put(Item item) {
    std::unique_lock lock{mutex_};
    has_space_.wait(lock, [&] { return items_.size() < limit_ || closed_; });
    if (closed_) return;
    items_.push_back(std::move(item));
    filled_.notify_one();
  }

  /// Waits for an item and takes at most `most`; empty once the queue is closed and empty.
  std::vector<Item> take(std::size_t most) {
    std::unique_lock lock{mutex_};
    filled_.wait(lock, [&] { return !items_.empty() || closed_; });
    std::vector<Item> out;
    while (!items_.empty() && out.size() < most) {
      out.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    has_space_.notify_all();
    return out;
  }

  void close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    filled_.notify_all();
    has_space_.notify_all();
  }

 private:
  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable filled_, has_space_;
  std::deque<Item> items_;
  bool closed_ = false;
};

}  // namespace inboxd::bench
