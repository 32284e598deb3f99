#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugin/plugin.hpp"

namespace contract {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using inboxd::plugin::Cancellation;
using inboxd::plugin::Delivered;
using inboxd::plugin::Instance;
using inboxd::plugin::Verdict;
using Clock = std::chrono::steady_clock;
using Kind = Verdict::Kind;

/// A folder of its own that goes away with the test.
class Folder final {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "inboxd-contract-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"cannot make a folder like " + name};
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline std::string contents(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

/// Takes what is written to stderr while it lives.
class StderrTaken final {
 public:
  StderrTaken() : before_{::dup(STDERR_FILENO)} {
    const int file = ::open((folder_ / "stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  ~StderrTaken() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  StderrTaken(const StderrTaken&) = delete;
  StderrTaken& operator=(const StderrTaken&) = delete;
  std::string text() const { return contents(folder_ / "stderr"); }

 private:
  Folder folder_;
  int before_;
};

/// One of tests/plugins, by its path.
inline std::string test_plugin(const std::string& name) {
  return std::string{BUILD_FOLDER} + "/tests/plugins/" + name + ".so";
}

inline inboxd::config::Handler handler_of(const std::string& plugin, inboxd::config::PluginSettings settings = {}) {
  inboxd::config::Handler handler;
  handler.name = "under-test";
  handler.plugin = plugin;
  handler.settings = std::move(settings);
  return handler;
}

/// A plugin that loads, or the reason why it did not.
class Attempt final {
 public:
  explicit Attempt(const inboxd::config::Handler& handler, const std::string& folder = BUILD_FOLDER "/plugins")
      : logger_{std::make_unique<inboxd::base::Logger>(inboxd::base::LogLevel::debug, inboxd::base::LogFormat::text)},
        result_{inboxd::plugin::load(handler, {{folder}}, *logger_)} {}
  explicit Attempt(const std::string& plugin, inboxd::config::PluginSettings settings = {})
      : Attempt{handler_of(test_plugin(plugin), std::move(settings))} {}

  bool worked() const { return result_.ok(); }
  std::string problem() const { return result_.ok() ? "" : result_.problem().message; }
  Instance& instance() {
    if (!result_) throw std::runtime_error{problem()};
    return *result_.value();
  }

 private:
  std::unique_ptr<inboxd::base::Logger> logger_;
  inboxd::base::Result<std::unique_ptr<Instance>> result_;
};

/// Events of topic `orders`, partition 3, offsets from 100, type OrderPlaced, with these keys and payload `{}`.
class Batch final {
 public:
  explicit Batch(const std::vector<std::string>& keys) : keys_{keys}, events_(keys.size()) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      events_[i].offset = 100 + static_cast<std::int64_t>(i);
      events_[i].event_id.bytes[15] = static_cast<std::uint8_t>(i);
      events_[i].event_type = "OrderPlaced";
      events_[i].key = keys_[i];
      events_[i].payload = "{}";
      delivered_.push_back({&events_[i], "orders", 3, 1});
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  inboxd::event::Event& event(std::size_t index) { return events_[index]; }
  Delivered& delivered(std::size_t index) { return delivered_[index]; }

  std::vector<Verdict> through(Instance& instance, Clock::duration time = 1min) {
    const Cancellation never;
    return instance.handle(delivered_, never, Clock::now() + time);
  }
  std::vector<Verdict> through(Instance& instance, const Cancellation& cancellation) {
    return instance.handle(delivered_, cancellation, Clock::now() + 1min);
  }

 private:
  std::vector<std::string> keys_;
  std::vector<inboxd::event::Event> events_;
  std::vector<Delivered> delivered_;
};

}  // namespace contract
