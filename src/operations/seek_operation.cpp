#include <algorithm>

#include "config/units.hpp"
#include "operations/find_event.hpp"
#include "operations/operation_table.hpp"
#include "operations/partition_queries.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

constexpr const char* seek_verb = "partitions seek";

/// Where to read from: an offset, or the first event received since a time.
struct Target {
  std::optional<std::int64_t> offset;
  std::optional<event::Microseconds> since;
};

std::optional<Target> read_target(const std::string& text) {
  if (const auto offset = parse_number(text)) return Target{*offset, std::nullopt};
  if (const auto since = config::parse_time(text)) return Target{std::nullopt, *since};
  return std::nullopt;
}

Answer refuse_seek(const Arguments& arguments, const std::string& message, base::ExitCode code = base::ExitCode::no) {
  return {code, {{"dry_run", arguments.flag("dry-run")}}, seek_verb + (": " + message)};
}

std::optional<PartitionState> find_partition(Context& context, const Arguments& arguments) {
  const std::string topic = *arguments.text("topic");
  for (const auto& one : read_partitions(*context.connection, {{topic}, true, false})) {
    if (one.topic == topic && one.partition == *arguments.number("partition")) return one;
  }
  return std::nullopt;
}

std::string problem_with(const PartitionState& partition, const SeekPlan& plan) {
  if (partition.halted_reason) {
    return "the partition is halted: " + *partition.halted_reason + "; `partitions list` has the remedy";
  }
  if (!plan.target) return "no event was received since then; pass an offset";
  if (partition.high_watermark && *plan.target > *partition.high_watermark) {
    return "the log ends at offset " + std::to_string(*partition.high_watermark);
  }
  if (*plan.target == plan.position) return "the position is there already";
  return "";
}

Document document_of(const PartitionState& partition, const SeekPlan& plan) {
  Document out = {{"topic", partition.topic},
                  {"partition", partition.partition},
                  {"position", plan.position},
                  {"to", *plan.target}};
  const std::int64_t again = std::max<std::int64_t>(plan.position - *plan.target, 0);
  out["read_again"] = again;
  out["known"] = plan.known;
  out["new_at_most"] = again - plan.known;
  out["passed_over"] = std::max<std::int64_t>(*plan.target - plan.position, 0);
  return out;
}

}  // namespace

Answer functions::partitions_seek(Context& context, const Arguments& arguments) {
  const auto to = arguments.text("to");
  const auto target = to ? read_target(*to) : std::nullopt;
  if (!target) return refuse_seek(arguments, "pass --to with an offset or a time (RFC 3339)", base::ExitCode::usage);
  const auto partition = find_partition(context, arguments);
  if (!partition || !partition->epoch) return refuse_seek(arguments, "no such partition; `partitions list` has all");
  auto plan = plan_seek(*context.connection, partition->shard_id, target->offset, target->since);
  if (!context.agreed.is_null()) {
    plan.target = context.agreed.at("to").get<std::int64_t>();
    if (plan.epoch != context.agreed.at("epoch").get<std::int32_t>() ||
        partition->shard_id != context.agreed.at("shard_id").get<std::int32_t>()) {
      return refuse_seek(arguments, "the partition has changed since it was shown; check it again");
    }
  }
  if (const auto problem = problem_with(*partition, plan); !problem.empty()) return refuse_seek(arguments, problem);
  Document document = document_of(*partition, plan);
  document["dry_run"] = arguments.flag("dry-run");
  if (arguments.flag("dry-run")) {
    return {base::ExitCode::done,
            std::move(document),
            "",
            {{"shard_id", partition->shard_id}, {"epoch", plan.epoch}, {"to", *plan.target}}};
  }
  const auto before = seek(*context.connection, partition->shard_id, plan.epoch, *plan.target, context.actor);
  if (!before) return refuse_seek(arguments, "another operator was faster; check the partition again");
  document["position"] = *before;
  document["moved"] = true;
  return {base::ExitCode::done, std::move(document), ""};
}

}  // namespace inboxd::operations
