#include "support/recording.hpp"

#include <fstream>
#include <sstream>

namespace inboxd::support {

std::vector<Recorded> Recording::all() const {
  std::vector<Recorded> out;
  std::ifstream in{file()};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    Recorded one;
    words >> one.handler >> one.event_id >> one.topic >> one.partition >> one.offset >> one.attempt >>
        one.monotonic_ms >> one.process_id >> one.traceparent;
    if (words) out.push_back(std::move(one));
  }
  return out;
}

std::map<std::string, int> Recording::calls_by_event(const std::string& handler) const {
  std::map<std::string, int> out;
  for (const Recorded& one : all()) {
    if (one.handler == handler) ++out[one.event_id];
  }
  return out;
}

std::set<int> Recording::processes() const {
  std::set<int> out;
  for (const Recorded& one : all()) out.insert(one.process_id);
  return out;
}

}  // namespace inboxd::support
