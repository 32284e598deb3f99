#include "reaper.hpp"

#include <chrono>

#include "child_processes.hpp"

namespace exec_handler {
namespace {

constexpr std::chrono::seconds reap_interval{1};

}  // namespace

Reaper::Reaper() : thread_{[this] { run(); }} {}

Reaper::~Reaper() {
  {
    const inboxd::base::Lock lock{mutex_};
    shall_end_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Reaper::run() {
  inboxd::base::Lock lock{mutex_};
  while (!changed_.wait_for(lock, reap_interval, [this]() REQUIRES(mutex_) { return shall_end_; })) {
    ChildProcesses::all().reap_orphans();
  }
}

}  // namespace exec_handler
