#include "verify/log_part.hpp"

#include <algorithm>
#include <map>

#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::verify {

using operations::PartitionState;

std::vector<LogPart> log_parts(inbox::Connection& connection, const std::vector<PartitionState>& states) {
  std::vector<LogPart> out;
  std::map<kafka::TopicPartition, LogPart> next;
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    if (state->source != "kafka" || !state->position) continue;
    const kafka::TopicPartition place{state->topic, state->partition};
    const auto known = next.find(place);
    std::optional<std::int64_t> cut;
    if (!state->is_newest) {
      if (known == next.end() || known->second.state.incarnation != state->incarnation) continue;
      const LogPart& newer = known->second;
      cut = log_of_shard(connection, newer.state.shard_id).begin.value_or(*newer.state.position);
      cut = std::min(*cut, newer.cut.value_or(*cut));
    }
    next[place] = out.emplace_back(LogPart{*state, cut});
  }
  std::reverse(out.begin(), out.end());
  return out;
}

ShardLog log_of_shard(inbox::Connection& connection, std::int32_t shard_id) {
  const auto rows = inbox::run_read(connection, inbox::statements::verify_partition, pqxx::params{shard_id});
  inbox::RowReader row{rows[0]};
  const auto first = row.maybe_int8();
  const auto first_stored = row.maybe_int8();
  ShardLog out{first ? first : first_stored, row.maybe_text().value_or("")};
  out.trimmed_before = row.maybe_int8().value_or(0);
  return out;
}

std::string problem_with(const PartitionState& seen, const kafka::LogBounds& log, const inbox::ShardPosition& now) {
  if (now.halted_reason) return "halted: " + *now.halted_reason + "; `inboxd partitions list` has the remedy";
  const std::string remedy = "start a daemon, which halts the partition; then `inboxd partitions list` has the remedy";
  if (*seen.position > log.high) {
    return "the position is " + std::to_string(*seen.position) + ", but the log ends at offset " +
           std::to_string(log.high) + ": it was truncated; " + remedy;
  }
  if (now.next_offset >= log.low) return "";
  event::OffsetSet lost{event::OffsetRange{now.next_offset, log.low}};
  lost.remove(seen.gaps);
  if (lost.empty()) return "";
  return "Kafka has deleted offsets " + std::to_string(lost.ranges().front().first) + " to " +
         std::to_string(lost.ranges().back().end - 1) + ", which were not read yet; " + remedy;
}

}  // namespace inboxd::verify
