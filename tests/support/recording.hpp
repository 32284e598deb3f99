#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/test_environment.hpp"

namespace inboxd::support {

/// A line of recorder.so: an event given to a handler.
struct Recorded {
  std::string handler;
  std::string event_id;
  std::string topic;
  int partition = 0;
  std::int64_t offset = 0;
  int attempt = 0;
  std::int64_t monotonic_ms = 0;
  int process_id = 0;
  std::string traceparent;  ///< as given to the handler; `-`: none
};

/// The file to which recorders of all instances append: setting `file` of the recorder.
class Recording final {
 public:
  std::filesystem::path file() const { return folder_ / "recorded"; }
  std::vector<Recorded> all() const;
  std::size_t count() const { return all().size(); }
  std::map<std::string, int> calls_by_event(const std::string& handler = "recorder") const;
  std::set<int> processes() const;

 private:
  TempFolder folder_;
};

}  // namespace inboxd::support
