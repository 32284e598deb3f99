#include "process/support/offset_monitor.hpp"

#include <stdexcept>

namespace inboxd::support {

OffsetMonitor::OffsetMonitor(const DaemonFixture& fixture)
    : session_{fixture.database.url(), fixture.database.schema()}, group_{fixture.config.group}, topic_{fixture.topic} {
  thread_ = std::thread{[this] { run(); }};
}

OffsetMonitor::~OffsetMonitor() {
  stopping_ = true;
  thread_.join();
}

void OffsetMonitor::run() {
  while (!stopping_) {
    try {
      // Read the offset first: the position only grows.
      for (const auto& [partition, offset] : kafka_.committed(group_, topic_)) {
        const auto position = session_.number("select position from inbox.lag where topic = $1 and partition = $2",
                                              {topic_, std::to_string(partition)});
        if (offset > position) ++ahead_;
      }
      ++checks_;
    } catch (const std::runtime_error&) {
      session_.close();  // the database is down: check again, in a new session
    }
    std::this_thread::sleep_for(milliseconds{20});
  }
}

}  // namespace inboxd::support
