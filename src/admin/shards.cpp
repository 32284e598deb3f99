#include <algorithm>

#include "admin/answers.hpp"
#include "admin/operations.hpp"
#include "admin/status.hpp"

namespace inboxd::admin {
namespace {

using Shards = std::vector<inbox::ShardState>;

Answer list(Context& context, const Arguments& arguments) {
  const inbox::ShardFilter filter{arguments.texts("topic"), !arguments.flag("all"), arguments.flag("halted")};
  Document shards = Document::array();
  for (const auto& shard : inbox::read_shards(*context.connection, filter)) shards.push_back(document_of(shard));
  Answer out;
  // That none is halted is good news.
  if (shards.empty() && arguments.flag("halted")) out.message = "none is halted";
  if (shards.empty() && !arguments.flag("halted")) out = {base::ExitCode::no, nullptr, "no shard matches"};
  out.document = {{"shards", std::move(shards)}};
  return out;
}

/// The newest shards of a topic, of one partition where that is given.
Shards shards_of(Context& context, const Arguments& arguments) {
  const std::string topic = *arguments.text("topic");
  auto shards = inbox::read_shards(*context.connection, {{topic}, true, false});
  const auto partition = arguments.number("partition");
  // In a list `ord*` is a prefix; what is accepted is of one topic.
  std::erase_if(
      shards, [&](const auto& shard) { return shard.topic != topic || (partition && shard.partition != *partition); });
  return shards;
}

Answer no(const Arguments& arguments, const std::string& message, const Shards& shards) {
  Document documents = Document::array();
  for (const auto& shard : shards) documents.push_back(document_of(shard));
  return {base::ExitCode::no,
          {{"dry_run", arguments.flag("dry-run")}, {"accepted", Document::array()}, {"shards", std::move(documents)}},
          message};
}

/// The plan of a dry run: what a partition goes over to, and the shard, so that it is no other one that looks the same.
Document plan_of(const inbox::ShardState& shard) {
  Document out = {{"shard_id", shard.shard_id}};
  if (shard.gap) out["gap"] = {shard.gap->first, shard.gap->end, shard.position.value_or(0)};
  if (shard.new_incarnation) out["new_incarnation"] = *shard.new_incarnation;
  return out;
}

Document plan_of(const Shards& shards) {
  Document out = Document::array();
  for (const auto& shard : shards) out.push_back(plan_of(shard));
  return out;
}

/// Whether what a person was shown is what is there; also where nobody was asked. What is there more is left out.
bool take_agreed(const Context& context, Shards& shards) {
  const Document& agreed = context.agreed;
  if (agreed.is_null()) return true;
  std::erase_if(shards, [&](const auto& shard) {
    return std::find(agreed.begin(), agreed.end(), plan_of(shard)) == agreed.end();
  });
  return shards.size() == agreed.size();
}

/// Why nothing is accepted of what was waiting a moment ago.
std::string changed(const Context& context, const std::string& verb) {
  return verb + (context.agreed.is_null() ? ": somebody else was faster"
                                          : ": it has changed since it was shown; look again");
}

std::string reason_of(const inbox::ShardState& shard) {
  return shard.halted_reason ? "it is halted for another reason: " + *shard.halted_reason : "it is not halted";
}

Answer accept_gap(Context& context, const Arguments& arguments) {
  auto shards = shards_of(context, arguments);
  if (shards.empty()) return no(arguments, "shards accept-gap: the inbox knows no such partition", shards);
  const auto shard = shards.front();
  if (!shard.gap)
    return no(arguments, "shards accept-gap: the partition waits for no gap: " + reason_of(shard), shards);
  if (!take_agreed(context, shards)) return no(arguments, changed(context, "shards accept-gap"), {shard});
  const auto answer = [&](const event::OffsetRange& gap, std::int64_t position) {
    const Document accepted = {{"topic", shard.topic},    {"partition", shard.partition}, {"from", gap.first},
                               {"to", gap.end},           {"lost", gap.end - gap.first},  {"position", position}};
    return Answer{base::ExitCode::done,
                  {{"dry_run", arguments.flag("dry-run")}, {"accepted", Document::array({accepted})}},
                  "",
                  plan_of(shards)};
  };
  const std::int64_t position = shard.position.value_or(0);
  // A gap that ends at the position is a log that was cut off: it is read on from the cut.
  const std::int64_t target = position == shard.gap->end ? shard.gap->first : std::max(shard.gap->end, position);
  if (arguments.flag("dry-run")) return answer(*shard.gap, target);
  const auto accepted = inbox::accept_gap(*context.connection, shard, context.actor);
  if (!accepted) return no(arguments, changed(context, "shards accept-gap"), shards);
  return answer(accepted->gap, accepted->position);
}

Answer accept_incarnation(Context& context, const Arguments& arguments) {
  auto shards = shards_of(context, arguments);
  if (shards.empty())
    return no(arguments, "shards accept-incarnation: the inbox knows no such topic or partition", shards);
  const auto all = shards;
  std::erase_if(shards, [](const auto& shard) { return !shard.new_incarnation; });
  if (shards.empty()) {
    return no(arguments, "shards accept-incarnation: no partition of it is halted because the topic was created again",
              all);
  }
  if (!take_agreed(context, shards)) return no(arguments, changed(context, "shards accept-incarnation"), all);
  Document accepted = Document::array();
  const auto add = [&](std::int64_t number, const std::string& old_id, const std::string& new_id) {
    accepted.push_back({{"topic", shards.front().topic},
                        {"partition", number},
                        {"old_incarnation", old_id},
                        {"new_incarnation", new_id},
                        {"position", 0}});
  };
  if (arguments.flag("dry-run")) {
    for (const auto& shard : shards) add(shard.partition, shard.incarnation, *shard.new_incarnation);
  } else {
    const auto done = inbox::accept_incarnation(*context.connection, shards, context.actor);
    if (done.empty()) return no(arguments, changed(context, "shards accept-incarnation"), all);
    for (const auto& one : done) add(one.partition, one.old_incarnation, one.new_incarnation);
  }
  return {base::ExitCode::done,
          {{"dry_run", arguments.flag("dry-run")}, {"accepted", std::move(accepted)}},
          "",
          plan_of(shards)};
}

Parameter topic_word() {
  return {"topic", Parameter::Kind::text, "the topic", "TOPIC", Parameter::Place::word};
}

Parameter partition_word(Parameter::Place place) {
  Parameter out{"partition", Parameter::Kind::number, "the partition's number", "PARTITION", place};
  out.most = 1'000'000;
  return out;
}

}  // namespace

std::vector<Operation> shard_operations() {
  using Kind = Parameter::Kind;
  using Place = Parameter::Place;
  return {
      {"shards list",
       "Partitions with their positions, gaps, and what halts them.",
       {{"shards list", "the newest incarnation of each partition"},
        {"shards list --halted", "those that stand still, and what to do"},
        {"shards list --topic orders --all", "former incarnations, too"}},
       Permission::read,
       Needs::database,
       {{"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
        {"halted", Kind::flag, "only halted ones"},
        {"all", Kind::flag, "former incarnations, too"}},
       list,
       answers::shards_list},
      {"shards accept-gap",
       "Has a halted partition go on behind records that Kafka has lost.",
       {{"shards accept-gap orders 3 --dry-run", "what would be skipped"},
        {"shards accept-gap orders 3", "skips it, after asking"}},
       Permission::change,
       Needs::database,
       {topic_word(), partition_word(Place::word), dry_run_parameter(), yes_parameter()},
       accept_gap,
       answers::shards_accept_gap},
      {"shards accept-incarnation",
       "Begins a topic that was deleted and created again, at its beginning.",
       {{"shards accept-incarnation orders", "all its halted partitions"},
        {"shards accept-incarnation orders 3 --yes", "one of them, without asking"}},
       Permission::change,
       Needs::database,
       {topic_word(), partition_word(Place::optional_word), dry_run_parameter(), yes_parameter()},
       accept_incarnation,
       answers::shards_accept_incarnation},
  };
}

}  // namespace inboxd::admin
