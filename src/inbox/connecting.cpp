#include "inbox/connecting.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace inboxd::inbox {
namespace {

constexpr std::chrono::milliseconds look{50};

/// An attempt, owned by who waits and by the thread that makes it.
struct Attempt {
  std::vector<std::pair<std::string, std::string>> parameters;
  std::mutex mutex;  // guards the following
  std::condition_variable changed;
  PGconn* made = nullptr;
  bool is_made = false;
  bool is_wanted = true;
};

PGconn* connect(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : parameters) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectdbParams(keywords.data(), values.data(), 1);
}

void run(const std::shared_ptr<Attempt>& attempt) {
  PGconn* const made = connect(attempt->parameters);
  const std::lock_guard lock{attempt->mutex};
  if (!attempt->is_wanted) {
    PQfinish(made);
    return;
  }
  attempt->made = made;
  attempt->is_made = true;
  attempt->changed.notify_all();
}

}  // namespace

PGconn* make_connection(std::vector<std::pair<std::string, std::string>> parameters, std::chrono::milliseconds limit,
                        const Watchdog& watchdog) {
  const auto began = std::chrono::steady_clock::now();
  const auto attempt = std::make_shared<Attempt>();
  attempt->parameters = std::move(parameters);
  std::thread{[attempt] { run(attempt); }}.detach();
  std::unique_lock lock{attempt->mutex};
  while (!attempt->is_made) {
    if (watchdog.is_over(began) || std::chrono::steady_clock::now() - began > limit) {
      attempt->is_wanted = false;
      return nullptr;
    }
    attempt->changed.wait_for(lock, look);
  }
  return attempt->made;
}

}  // namespace inboxd::inbox
