#include "dispatcher/retirement.hpp"

#include <pthread.h>

#include <condition_variable>
#include <system_error>
#include <utility>

namespace inboxd::dispatcher {

struct Retirement::Ending {
  std::shared_ptr<plugin::Instance> instance;  ///< the thread's
  std::mutex mutex;                            // guards the following
  std::condition_variable changed;
  bool has_ended = false;
  bool is_left = false;
};

Retirement::~Retirement() { finish(Clock::now()); }

void Retirement::take(std::string handler, std::shared_ptr<plugin::Instance> instance) {
  // Before the lock: where there is no thread for it, it ends behind the lock.
  const auto ending = std::make_shared<Ending>();
  ending->instance = std::move(instance);
  const std::lock_guard lock{mutex_};
  dismiss_ended();
  Entry& entry = entries_.emplace_back(Entry{std::move(handler), Clock::now(), ending, {}});
  try {
    entry.thread = std::thread{[ending, ends = ends_] {
      ending->instance.reset();  // plugin code
      const std::lock_guard of_ending{ending->mutex};
      ending->has_ended = true;
      if (ending->is_left) --ends->left;
      ending->changed.notify_all();
    }};
    pthread_setname_np(entry.thread.native_handle(), "retirement");
  } catch (const std::system_error&) {
    entries_.pop_back();
  }
}

/// Under the lock.
void Retirement::dismiss_ended() {
  entries_.remove_if([](Entry& entry) {
    {
      const std::lock_guard lock{entry.ending->mutex};
      if (!entry.ending->has_ended) return false;
    }
    entry.thread.join();
    return true;
  });
}

std::vector<std::string> Retirement::overdue(Clock::time_point since) {
  const std::lock_guard lock{mutex_};
  dismiss_ended();
  std::vector<std::string> out;
  for (Entry& entry : entries_) {
    if (entry.since < since && !std::exchange(entry.is_named, true)) out.push_back(entry.handler);
  }
  return out;
}

std::vector<std::string> Retirement::finish(Clock::time_point deadline) {
  const std::lock_guard lock{mutex_};
  std::vector<std::string> out;
  for (Entry& entry : entries_) {
    std::unique_lock of_ending{entry.ending->mutex};
    if (entry.ending->changed.wait_until(of_ending, deadline, [&] { return entry.ending->has_ended; })) {
      of_ending.unlock();
      entry.thread.join();
      continue;
    }
    entry.ending->is_left = true;
    ++ends_->left;
    entry.thread.detach();
    out.push_back(entry.handler);
  }
  entries_.clear();
  return out;
}

}  // namespace inboxd::dispatcher
