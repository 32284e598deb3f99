#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

// Clang checks at compile time that a member is only used under its mutex (-Wthread-safety; tests/tidy/threads.py runs
// it). Other compilers ignore these words.
#if defined(__clang__)
#define INBOXD_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define INBOXD_THREAD_SAFETY(attribute)
#endif
#define GUARDED_BY(mutex) INBOXD_THREAD_SAFETY(guarded_by(mutex))
/// Of a function, or of a lambda's call: the caller holds the mutex.
#define REQUIRES(mutex) INBOXD_THREAD_SAFETY(requires_capability(mutex))

namespace inboxd::base {

/// A mutex that clang can follow. Any thread.
class INBOXD_THREAD_SAFETY(capability("mutex")) Mutex final {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class Lock;
  std::mutex mutex_;
};

/// Holds a mutex until its end, or until `unlock`.
class INBOXD_THREAD_SAFETY(scoped_lockable) Lock final {
 public:
  explicit Lock(Mutex& mutex) INBOXD_THREAD_SAFETY(acquire_capability(mutex)) : lock_{mutex.mutex_} {}
  ~Lock() INBOXD_THREAD_SAFETY(release_capability()) = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  void lock() INBOXD_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }
  void unlock() INBOXD_THREAD_SAFETY(release_capability()) { lock_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

/// A mutex that several readers may hold together. Any thread.
class INBOXD_THREAD_SAFETY(capability("mutex")) SharedMutex final {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

 private:
  friend class WriterLock;
  friend class ReaderLock;
  std::shared_mutex mutex_;
};

class INBOXD_THREAD_SAFETY(scoped_lockable) WriterLock final {
 public:
  explicit WriterLock(SharedMutex& mutex) INBOXD_THREAD_SAFETY(acquire_capability(mutex)) : lock_{mutex.mutex_} {}
  ~WriterLock() INBOXD_THREAD_SAFETY(release_capability()) = default;

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

class INBOXD_THREAD_SAFETY(scoped_lockable) ReaderLock final {
 public:
  explicit ReaderLock(SharedMutex& mutex) INBOXD_THREAD_SAFETY(acquire_shared_capability(mutex))
      : lock_{mutex.mutex_} {}
  ~ReaderLock() INBOXD_THREAD_SAFETY(release_generic_capability()) = default;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

/// Wakes threads that wait under a lock. A predicate is called under it: `[this]() REQUIRES(mutex_) { … }`.
class Condition final {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }
  void wait_for(Lock& lock, std::chrono::steady_clock::duration longest) { condition_.wait_for(lock.lock_, longest); }
  template <class Predicate>
  void wait(Lock& lock, Predicate is_met) INBOXD_THREAD_SAFETY(no_thread_safety_analysis) {
    condition_.wait(lock.lock_, is_met);
  }
  void wait_until(Lock& lock, std::chrono::steady_clock::time_point until) {
    condition_.wait_until(lock.lock_, until);
  }
  /// Whether the predicate is met.
  template <class Predicate>
  bool wait_until(Lock& lock, std::chrono::steady_clock::time_point until, Predicate is_met)
      INBOXD_THREAD_SAFETY(no_thread_safety_analysis) {
    return condition_.wait_until(lock.lock_, until, is_met);
  }
  template <class Predicate>
  bool wait_for(Lock& lock, std::chrono::steady_clock::duration longest, Predicate is_met)
      INBOXD_THREAD_SAFETY(no_thread_safety_analysis) {
    return condition_.wait_for(lock.lock_, longest, is_met);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace inboxd::base
