#include "formats/registry.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace inboxd::formats {
namespace {

using namespace std::chrono_literals;

constexpr auto first_retry = 1'000ms;
constexpr auto max_retry = 30'000ms;

}  // namespace

Registry::Registry(config::Registry settings)
    : client_{std::move(settings)}, backoff_{first_retry, max_retry} {}

Registry::~Registry() {
  std::thread thread;
  {
    const base::Lock lock{mutex_};
    stops_ = true;
    thread = std::move(thread_);
  }
  client_.cancel();
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

SchemaAnswer Registry::find(const SchemaId& id, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  bool has_waited = false;
  base::Lock lock{mutex_};
  while (true) {
    const auto now = Clock::now();
    const auto found = entries_.find(id);
    if (found != entries_.end() && !found->second.is_asked) {
      Entry& entry = found->second;
      if (entry.answer.schema || now < entry.until || has_waited) {
        entry.used = ++uses_;
        return entry.answer;
      }
    }
    const bool is_asked = found != entries_.end() && found->second.is_asked;
    if (!is_asked) {
      if (!failure_.empty() && now < retry_at_) return {nullptr, {}, failure_};
      if (!has_budget(now)) {
        return {nullptr, {}, "more than registry.max_requests_per_minute requests to " + client_.settings().url +
                         " within a minute"};
      }
      if (!thread_.joinable()) {
        thread_ = std::thread{[this] { run(); }};
        pthread_setname_np(thread_.native_handle(), "registry");
      }
      if (found == entries_.end()) make_room();
      entries_[id].is_asked = true;
      asked_.push_back(id);
      changed_.notify_all();
    } else if (now >= deadline) {
      if (!failure_.empty()) return {nullptr, {}, failure_};  // as before: no news
      return {nullptr, {}, "the schema registry " + client_.settings().url + " has not answered yet"};
    }
    changed_.wait_until(lock, deadline);
    has_waited = true;
    if (!failure_.empty() && Clock::now() < retry_at_) return {nullptr, {}, failure_};
  }
}

void Registry::run() {
  base::Lock lock{mutex_};
  while (true) {
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return stops_ || !asked_.empty(); });
    if (stops_) return;
    const SchemaId id = asked_.front();
    asked_.pop_front();
    lock.unlock();
    RegistryAnswer answer;
    try {
      answer = client_.fetch(id);
    } catch (const std::exception& error) {
      answer.failure = std::string{"cannot be asked: "} + error.what();
    }
    lock.lock();
    take(id, std::move(answer));
    changed_.notify_all();
  }
}

void Registry::take(const SchemaId& id, RegistryAnswer answer) {
  if (!answer.failure.empty() && !answer.is_of_id) {
    // Whoever needs a schema asks again, after the wait.
    std::erase_if(entries_, [](const auto& entry) { return entry.second.is_asked; });
    asked_.clear();
    return note_failure(answer.failure);
  }
  failure_.clear();
  backoff_.reset();
  Entry& entry = entries_[id];
  entry = {false, {}, Clock::now() + client_.settings().unknown_interval, ++uses_};
  if (answer.is_of_id) entry.answer.waits = "the schema registry " + client_.settings().url + " " + answer.failure;
  else if (answer.schema) entry.answer.schema = std::make_shared<const Schema>(*std::move(answer.schema));
  else entry.answer.misfit = std::move(answer.misfit);
}

void Registry::note_failure(const std::string& failure) {
  failure_ = "the schema registry " + client_.settings().url + " " + failure;
  retry_at_ = Clock::now() + backoff_.next();
}

bool Registry::has_budget(Clock::time_point now) {
  if (now - minute_ >= 60s) {
    minute_ = now;
    requests_before_ = client_.requests();
  }
  const auto waiting = static_cast<int>(asked_.size());
  return client_.requests() - requests_before_ + waiting < client_.settings().max_requests_per_minute;
}

/// Before a new entry. Unknown ids go first: any producer can make them up.
void Registry::make_room() {
  if (entries_.size() < static_cast<std::size_t>(client_.settings().max_schemas)) return;
  const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const Entry& entry) {
      return std::pair{entry.is_asked ? 2 : entry.answer.schema ? 1 : 0, entry.used};
    };
    return rank(a.second) < rank(b.second);
  });
  if (!oldest->second.is_asked) entries_.erase(oldest);
}

}  // namespace inboxd::formats
