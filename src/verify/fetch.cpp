#include "verify/fetch.hpp"

#include <algorithm>
#include <optional>

#include "inbox/row_reader.hpp"
#include "operations/partition_queries.hpp"
#include "statements.hpp"

namespace inboxd::verify {

std::string problem_with_fetch(inbox::Connection& connection, const PartitionResult& partition) {
  const std::int64_t first = partition.first_missing.value_or(partition.position);
  const auto all = operations::read_partitions(connection, {{partition.topic}, true, false});
  const auto now = std::find_if(all.begin(), all.end(), [&](const auto& one) {
    return one.topic == partition.topic && one.partition == partition.partition;
  });
  if (now == all.end() || now->shard_id != partition.shard_id || now->epoch != partition.epoch || !now->position ||
      first >= *now->position) {
    return "the position has been moved meanwhile; verify again";
  }
  if (!partition.problem.empty()) return "it was not verified to its end: " + partition.problem;
  if (partition.last_other_id && *partition.last_other_id >= first) {
    const std::string& rule = partition.other_id_rule;
    return "the rules of topic " + partition.topic + " have changed: " +
           (rule == "none" ? "no rule gives" : "rule " + rule + " does not give") + " the record at offset " +
           std::to_string(*partition.last_other_id) + " the id of its event. Read again from offset " +
           std::to_string(first) + ", it would be stored again, and its handlers would run again";
  }
  std::optional<std::int64_t> forgotten;
  if (partition.last_forgotten && *partition.last_forgotten >= first) forgotten = partition.last_forgotten;
  const auto rows = inbox::run_read(connection, inbox::statements::verify_forgotten_id,
                                    pqxx::params{partition.shard_id, first, *now->position});
  if (!rows.empty()) forgotten = inbox::RowReader{rows[0]}.int8();
  if (!forgotten) return "";
  return "the ledger no longer has the id of the record at offset " + std::to_string(*forgotten) +
         ": read again from offset " + std::to_string(first) +
         ", it would be stored again, and its handlers would run again";
}

}  // namespace inboxd::verify
