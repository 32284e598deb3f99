#include "admin/http_lane.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace inboxd::admin {
namespace {

constexpr int niceness = 10;

}  // namespace

void give_way() {
  // Linux keeps a priority for each thread; where it cannot be lowered nothing is lost.
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness));
}

Lane::~Lane() {
  request_stop();
  join();
}

void Lane::start() {
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), name_.substr(0, 15).c_str());
}

void Lane::add(Job job) {
  {
    const std::lock_guard lock{mutex_};
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Lane::request_stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    jobs_.clear();
    if (running_) *running_ = true;
  }
  changed_.notify_one();
}

void Lane::join() {
  if (thread_.joinable()) thread_.join();
}

void Lane::run() {
  give_way();
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (*job.nobody_waits) continue;
    running_ = job.nobody_waits;
    lock.unlock();
    job.work();
    lock.lock();
    running_.reset();
  }
}

}  // namespace inboxd::admin
