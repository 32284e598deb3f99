#include <algorithm>

#include "operations/event_queries.hpp"
#include "operations/operation_table.hpp"
#include "operations/status_operation.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

using Partitions = std::vector<PartitionState>;

/// The newest incarnations of a topic's partitions, or of the named partition.
Partitions partitions_of(Context& context, const Arguments& arguments) {
  const std::string topic = *arguments.text("topic");
  auto out = read_partitions(*context.connection, {{topic}, true, false});
  const auto partition = arguments.number("partition");
  // In a list `ord*` is a prefix; a change takes the name as it is.
  std::erase_if(out, [&](const auto& one) { return one.topic != topic || (partition && one.partition != *partition); });
  return out;
}

std::string unknown_partition(Context& context, const Arguments& arguments) {
  const std::string topic = *arguments.text("topic");
  const auto topics = names_in_use(*context.connection)["topic"];
  if (std::find(topics.begin(), topics.end(), topic) == topics.end()) {
    return unknown_name("topic", topic, topics).sentence;
  }
  return "topic " + topic + " has no partition " + std::to_string(arguments.number("partition").value_or(0));
}

Document documents_of(const Partitions& partitions) {
  Document out = Document::array();
  for (const auto& partition : partitions) out.push_back(document_of(partition));
  return out;
}

Answer no(const Arguments& arguments, const std::string& message, const Partitions& partitions) {
  return {base::ExitCode::no,
          {{"dry_run", arguments.flag("dry-run")},
           {"accepted", Document::array()},
           {"partitions", documents_of(partitions)}},
          message};
}

/// The plan of a dry run: the accepted state, and the shard, because another shard may have an equal state.
Document plan_of(const PartitionState& partition) {
  Document out = {{"shard_id", partition.shard_id}};
  if (partition.gap) out["gap"] = {partition.gap->first, partition.gap->end, partition.position.value_or(0)};
  if (partition.new_incarnation) out["new_incarnation"] = *partition.new_incarnation;
  return out;
}

Document plan_of(const Partitions& partitions) {
  Document out = Document::array();
  for (const auto& partition : partitions) out.push_back(plan_of(partition));
  return out;
}

/// Keeps only partitions of the confirmed plan, if there is one. False: a partition has changed since.
bool take_agreed(const Context& context, Partitions& partitions) {
  const Document& agreed = context.agreed;
  if (agreed.is_null()) return true;
  std::erase_if(partitions, [&](const auto& partition) {
    return std::find(agreed.begin(), agreed.end(), plan_of(partition)) == agreed.end();
  });
  return partitions.size() == agreed.size();
}

std::string changed(const Context& context, const std::string& verb) {
  return verb + (context.agreed.is_null() ? ": another operator was faster; check the partition again"
                                          : ": the partition has changed since it was shown; check it again");
}

std::string reason_of(const PartitionState& partition) {
  return partition.halted_reason ? "it is halted for another reason: " + *partition.halted_reason : "it is not halted";
}

}  // namespace

Answer functions::partitions_list(Context& context, const Arguments& arguments) {
  const PartitionFilter filter{arguments.texts("topic"), !arguments.flag("all"), arguments.flag("halted")};
  const auto found = read_partitions(*context.connection, filter);
  Document document{{"partitions", documents_of(found)}};
  if (found.empty() && !arguments.flag("halted")) {
    return nothing_matches(context, arguments, std::move(document), "no partition matches");
  }
  return {base::ExitCode::done, std::move(document), found.empty() ? "no partition is halted" : ""};
}

Answer functions::partitions_accept_gap(Context& context, const Arguments& arguments) {
  const std::string verb = "partitions accept-gap";
  auto partitions = partitions_of(context, arguments);
  if (partitions.empty()) return no(arguments, verb + ": " + unknown_partition(context, arguments), partitions);
  const auto partition = partitions.front();
  if (!partition.gap) {
    return no(arguments, verb + ": the partition has no gap to accept: " + reason_of(partition), partitions);
  }
  if (!take_agreed(context, partitions)) return no(arguments, changed(context, verb), {partition});
  const auto answer = [&](const event::OffsetRange& gap, std::int64_t position) {
    const Document accepted = {{"topic", partition.topic},    {"partition", partition.partition},
                               {"from", gap.first},           {"to", gap.end},
                               {"lost", gap.end - gap.first}, {"position", position}};
    return Answer{base::ExitCode::done,
                  {{"dry_run", arguments.flag("dry-run")}, {"accepted", Document::array({accepted})}},
                  "",
                  plan_of(partitions)};
  };
  const std::int64_t position = partition.position.value_or(0);
  // A gap that ends at the position is a truncated log: reading continues at the cut.
  const std::int64_t target =
      position == partition.gap->end ? partition.gap->first : std::max(partition.gap->end, position);
  if (arguments.flag("dry-run")) return answer(*partition.gap, target);
  const auto accepted = accept_gap(*context.connection, partition, context.actor);
  if (!accepted) return no(arguments, changed(context, verb), partitions);
  return answer(accepted->gap, accepted->position);
}

Answer functions::partitions_accept_recreated(Context& context, const Arguments& arguments) {
  const std::string verb = "partitions accept-recreated";
  auto partitions = partitions_of(context, arguments);
  if (partitions.empty()) return no(arguments, verb + ": " + unknown_partition(context, arguments), partitions);
  const auto all = partitions;
  std::erase_if(partitions, [](const auto& partition) { return !partition.new_incarnation; });
  if (partitions.empty()) {
    return no(arguments, verb + ": no partition is halted because the topic was created again", all);
  }
  if (!take_agreed(context, partitions)) return no(arguments, changed(context, verb), all);
  Document accepted = Document::array();
  const auto add = [&](std::int64_t number, const std::string& old_id, const std::string& new_id) {
    accepted.push_back({{"topic", partitions.front().topic},
                        {"partition", number},
                        {"old_incarnation", old_id},
                        {"new_incarnation", new_id},
                        {"position", 0}});
  };
  if (arguments.flag("dry-run")) {
    for (const auto& one : partitions) add(one.partition, one.incarnation, *one.new_incarnation);
  } else {
    const auto done = accept_recreated(*context.connection, partitions, context.actor);
    if (done.empty()) return no(arguments, changed(context, verb), all);
    for (const auto& one : done) add(one.partition, one.old_incarnation, one.new_incarnation);
  }
  return {base::ExitCode::done,
          {{"dry_run", arguments.flag("dry-run")}, {"accepted", std::move(accepted)}},
          "",
          plan_of(partitions)};
}

}  // namespace inboxd::operations
