#include "verify/verify.hpp"

#include <utility>

#include "verify/log_check.hpp"

namespace inboxd::verify {

void run(const Surroundings& around, const Request& request, Report& out) {
  out.sample = request.sample;
  auto state = StateFile::read(request.state_file);
  if (state) {  // an unwritable place is known before hours of reading
    if (const auto written = state.value().write(); !written) state = written.problem();
  }
  if (!state) {
    out.failure = base::Problem{state.problem().message, "usage"};
    return;
  }
  if (!request.topics.empty() && partitions_of(around, request).empty()) {
    out.failure = base::Problem{"no partition of such a topic; `inboxd partitions list` has all", "no"};
    return;
  }
  if (request.database) verify_database(around, request, out);
  if (request.kafka && !around.settings.reads_kafka()) {
    if (!request.database) {
      out.failure = base::Problem{"all topics are local, so there is no log to read; leave out --against", "no"};
      return;
    }
    out.remarks.push_back("no log was read: all topics are local, so their events are in the database alone");
    return;
  }
  if (request.kafka && !out.interrupted) verify_logs(around, request, std::move(state).value(), out);
}

}  // namespace inboxd::verify
