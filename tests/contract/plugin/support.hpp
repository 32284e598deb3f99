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

#include "plugin/loader.hpp"

namespace contract {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using inboxd::event::Verdict;
using inboxd::plugin::Cancellation;
using inboxd::plugin::Delivered;
using inboxd::plugin::Instance;
using Clock = std::chrono::steady_clock;
using Kind = Verdict::Kind;

/// A temporary folder, removed at the end.
class TempFolder final {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "inboxd-contract-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"cannot make a folder like " + name};
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
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

/// Captures stderr while it lives.
class StderrCapture final {
 public:
  StderrCapture() : before_{::dup(STDERR_FILENO)} {
    const int file = ::open((folder_ / "stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  ~StderrCapture() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;
  std::string text() const { return contents(folder_ / "stderr"); }

 private:
  TempFolder folder_;
  int before_;
};

/// The path of a plugin of tests/plugins.
inline std::string test_plugin(const std::string& name) {
  return std::string{BUILD_FOLDER} + "/tests/plugins/" + name + ".so";
}

/// Inspects a plugin's file with a new loader.
inline inboxd::base::Result<inboxd::plugin::Description> inspect(const fs::path& file) {
  return inboxd::plugin::Loader{inboxd::plugin::SearchPath{}}.inspect(file.string());
}

inline inboxd::config::Handler handler_of(const std::string& plugin, inboxd::config::PluginSettings settings = {}) {
  inboxd::config::Handler handler;
  handler.name = "under-test";
  handler.plugin = plugin;
  handler.settings = std::move(settings);
  return handler;
}

/// A loaded plugin, or the reason for its refusal.
class LoadAttempt final {
 public:
  explicit LoadAttempt(const inboxd::config::Handler& handler, const std::string& folder = BUILD_FOLDER "/plugins")
      : logger_{std::make_unique<inboxd::base::Logger>(inboxd::base::LogLevel::debug, inboxd::base::LogFormat::text)},
        loader_{std::make_unique<inboxd::plugin::Loader>(inboxd::plugin::SearchPath{{folder}})},
        result_{loader_->load(handler, *logger_)} {}
  explicit LoadAttempt(const std::string& plugin, inboxd::config::PluginSettings settings = {})
      : LoadAttempt{handler_of(test_plugin(plugin), std::move(settings))} {}

  bool worked() const { return result_.ok(); }
  std::string problem() const { return result_.ok() ? "" : result_.problem().message; }
  Instance& instance() {
    if (!result_) throw std::runtime_error{problem()};
    return *result_.value();
  }

 private:
  std::unique_ptr<inboxd::base::Logger> logger_;
  std::unique_ptr<inboxd::plugin::Loader> loader_;
  inboxd::base::Result<std::unique_ptr<Instance>> result_;
};

/// Events of topic `orders`, partition 3, from offset 100, type OrderPlaced, with these keys and payload `{}`.
class DeliveredEvents final {
 public:
  explicit DeliveredEvents(const std::vector<std::string>& keys) : keys_{keys}, events_(keys.size()) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      events_[i].offset = 100 + static_cast<std::int64_t>(i);
      events_[i].event_id.bytes[15] = static_cast<std::uint8_t>(i);
      events_[i].event_type = "OrderPlaced";
      events_[i].key = keys_[i];
      events_[i].payload = "{}";
      delivered_.push_back({&events_[i], "orders", 3, 1});
    }
  }
  DeliveredEvents(const DeliveredEvents&) = delete;
  DeliveredEvents& operator=(const DeliveredEvents&) = delete;

  inboxd::event::Event& event(std::size_t index) { return events_[index]; }
  Delivered& delivered(std::size_t index) { return delivered_[index]; }

  std::vector<Verdict> handled_by(Instance& instance, Clock::duration time = 1min) {
    const Cancellation never;
    return instance.handle(delivered_, never, Clock::now() + time);
  }
  std::vector<Verdict> handled_by(Instance& instance, const Cancellation& cancellation) {
    return instance.handle(delivered_, cancellation, Clock::now() + 1min);
  }

 private:
  std::vector<std::string> keys_;
  std::vector<inboxd::event::Event> events_;
  std::vector<Delivered> delivered_;
};

}  // namespace contract
