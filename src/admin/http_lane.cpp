#include "admin/http_lane.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::admin {
namespace {

constexpr int niceness = 10;

}  // namespace

void give_way() {
  // Linux keeps a priority for each thread. A failure is harmless.
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

bool Lane::add(Job job) {
  {
    const base::Lock lock{mutex_};
    const auto is_alike = [&](const Job& waiting) { return waiting.has_token == job.has_token; };
    if (std::count_if(jobs_.begin(), jobs_.end(), is_alike) >= static_cast<std::ptrdiff_t>(max_waiting_)) return false;
    const auto has_none = [](const Job& waiting) { return !waiting.has_token; };
    const auto first_without = std::find_if(jobs_.begin(), jobs_.end(), has_none);
    jobs_.insert(job.has_token ? first_without : jobs_.end(), std::move(job));
  }
  changed_.notify_one();
  return true;
}

void Lane::abandon(const NobodyWaits& nobody_waits) {
  *nobody_waits = true;
  const base::Lock lock{mutex_};
  std::erase_if(jobs_, [&](const Job& job) { return job.nobody_waits == nobody_waits; });
}

std::size_t Lane::waiting() const {
  const base::Lock lock{mutex_};
  return jobs_.size();
}

void Lane::request_stop() {
  {
    const base::Lock lock{mutex_};
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
  base::Lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return stopping_ || !jobs_.empty(); });
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
