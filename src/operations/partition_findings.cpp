// Findings about partitions whose records wait unread, from the rows of table reading.
#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations {
namespace {

/// The most partitions that a line names.
constexpr std::size_t max_names = 3;

/// Partitions that share a finding.
struct Group {
  std::vector<std::string> partitions;
  std::int64_t records = 0;
  std::chrono::microseconds unmoved_for{0};
};

struct Cause {
  std::string slug;
  std::string why;
  auto operator<=>(const Cause&) const = default;
};

Cause cause_of(const PartitionReading& reading) {
  if (reading.is_read && reading.position) return {"partition_stalled", reading.host.value_or("a daemon")};
  if (reading.is_read) {
    return {"partition_position_unknown", reading.reason.value_or("").empty() ? "looking it up" : *reading.reason};
  }
  if (reading.member) {
    return {"partition_not_read",
            "the group has assigned them to " + *reading.member + ", which is no live daemon of this inbox"};
  }
  if (reading.host) return {"partition_not_read", "the daemon on " + *reading.host + " that read them is gone"};
  return {"partition_not_read", "no member of the group has them"};
}

std::string names_of(const Group& group) {
  std::vector<std::string> shown{
      group.partitions.begin(),
      group.partitions.begin() + static_cast<std::ptrdiff_t>(std::min(group.partitions.size(), max_names))};
  const std::size_t others = group.partitions.size() - shown.size();
  return base::joined(shown) + (others > 0 ? " and " + std::to_string(others) + " more partitions" : "");
}

}  // namespace

std::vector<StatusFinding> partition_findings(const std::vector<PartitionReading>& readings, event::Microseconds now) {
  std::map<Cause, Group> groups;
  for (const PartitionReading& reading : readings) {
    if (!reading.is_stuck()) continue;
    Group& group = groups[cause_of(reading)];
    group.partitions.push_back(reading.topic + "/" + std::to_string(reading.partition));
    group.records += reading.position ? reading.lag().value_or(0) : reading.high_watermark.value_or(0);
    group.unmoved_for = std::max(group.unmoved_for, reading.unmoved_for);
  }
  std::vector<StatusFinding> out;
  for (const auto& [cause, group] : groups) {
    out.push_back(make_finding(cause.slug, {{"partitions", names_of(group)},
                                            {"records", std::to_string(group.records)},
                                            {"age", duration_sentence(group.unmoved_for)},
                                            {"why", cause.why}})
                      .began(now - group.unmoved_for.count()));
  }
  return out;
}

void findings::unread_partitions(const Situation& situation, List& out) {
  if (!situation.any_live()) return;  // which is a finding of its own
  for (auto& finding : partition_findings(situation.readings, situation.now)) out.push_back(std::move(finding));
}

}  // namespace inboxd::operations
