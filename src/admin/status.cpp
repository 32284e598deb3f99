#include "admin/status.hpp"

#include <algorithm>

#include "admin/answers.hpp"
#include "admin/documents.hpp"
#include "admin/operations.hpp"

namespace inboxd::admin {
namespace {

constexpr auto long_waiting = std::chrono::minutes{5};

bool is_gone(const inbox::InstanceState& instance) { return instance.unseen > long_unseen; }

std::string count_text(const inbox::Count& count) {
  return (count.at_least ? "at least " : "") + std::to_string(count.number);
}

/// `1 partition is`, `2 partitions are`.
std::string counted(std::int64_t number, const std::string& thing, const std::string& one, const std::string& many) {
  return std::to_string(number) + " " + thing + (number == 1 ? " " + one : "s " + many);
}

std::string duration_sentence(std::chrono::microseconds duration) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(duration).count();
  if (minutes < 120) return std::to_string(minutes) + " minutes";
  if (minutes < 48 * 60) return std::to_string(minutes / 60) + " hours";
  return std::to_string(minutes / 60 / 24) + " days";
}

void judge_handler(const inbox::HandlerState& handler, Verdict& out) {
  if (handler.retired_at) return;
  if (handler.paused_reason) {
    out.problems.push_back("handler " + handler.name + " is paused: " + *handler.paused_reason);
  } else if (handler.oldest_due_age && *handler.oldest_due_age > long_waiting) {
    out.remarks.push_back("handler " + handler.name + " is " + duration_sentence(*handler.oldest_due_age) + " behind");
  }
  if (handler.dead.number > 0) {
    out.remarks.push_back("handler " + handler.name + " has " + count_text(handler.dead) + " dead");
  }
}

template <class List>
Document documents_of(const List& list) {
  Document out = Document::array();
  for (const auto& one : list) out.push_back(document_of(one));
  return out;
}

Answer status(Context& context, const Arguments&) {
  auto& connection = *context.connection;
  Situation situation;
  situation.shards = inbox::read_shards(connection, {{}, true, false});
  situation.handlers = inbox::read_handlers(connection);
  std::erase_if(situation.handlers, [](const auto& handler) { return handler.retired_at.has_value(); });
  situation.instances = inbox::read_instances(connection);
  situation.quarantined = inbox::count_quarantined(connection);
  return {base::ExitCode::done, document_of(situation), ""};
}

}  // namespace

std::string Verdict::sentence() const {
  std::string out;
  for (const auto* list : {&problems, &remarks}) {
    for (const std::string& part : *list) out += (out.empty() ? "" : "; ") + part;
  }
  if (problems.empty()) return out.empty() ? "all is well" : "all is running; " + out;
  return out;
}

Verdict judge(const Situation& situation) {
  Verdict out;
  const auto halted = std::count_if(situation.shards.begin(), situation.shards.end(),
                                    [](const auto& shard) { return shard.halted_reason.has_value(); });
  if (halted > 0) out.problems.push_back(counted(halted, "partition", "is halted", "are halted"));
  const bool somebody = std::any_of(situation.instances.begin(), situation.instances.end(),
                                    [](const auto& instance) { return !is_gone(instance); });
  if (!somebody) out.problems.push_back("no daemon is running");
  for (const auto& instance : situation.instances) {
    if (!instance.trouble || is_gone(instance)) continue;
    const std::string trouble = instance.worker.host + ": " + *instance.trouble;
    if (std::find(out.problems.begin(), out.problems.end(), trouble) == out.problems.end()) {
      out.problems.push_back(trouble);
    }
  }
  for (const auto& handler : situation.handlers) judge_handler(handler, out);
  if (situation.quarantined.number > 0) {
    out.remarks.push_back(count_text(situation.quarantined) + " in quarantine");
  }
  out.is_well = out.problems.empty();
  return out;
}

std::string advice_for(const inbox::ShardState& shard) {
  if (!shard.halted_reason) return "";
  const std::string place = shard.topic + " " + std::to_string(shard.partition);
  if (shard.gap) return "inboxd shards accept-gap " + place;
  if (shard.new_incarnation) return "inboxd shards accept-incarnation " + shard.topic;
  return "goes on by itself when the cause is gone; the daemon's log says more";
}

Document document_of(const inbox::ShardState& shard) {
  const auto number = [](const auto& value) { return value ? Document(*value) : Document(nullptr); };
  Document gaps = Document::array();
  for (const auto& range : shard.gaps.ranges()) gaps.push_back(range_of(range));
  return {{"shard_id", shard.shard_id},
          {"source", shard.source},
          {"topic", shard.topic},
          {"partition", shard.partition},
          {"incarnation", shard.incarnation},
          {"is_newest", shard.is_newest},
          {"epoch", number(shard.epoch)},
          {"position", number(shard.position)},
          {"high_watermark", number(shard.high_watermark)},
          {"lag", number(shard.lag())},
          {"halted_reason", text_of(shard.halted_reason)},
          {"halted_at", time_of(shard.halted_at)},
          {"what_to_do", shard.halted_reason ? Document(advice_for(shard)) : Document(nullptr)},
          {"gap", shard.gap ? range_of(*shard.gap) : Document(nullptr)},
          {"new_incarnation", text_of(shard.new_incarnation)},
          {"accepted_gaps", std::move(gaps)}};
}

Document document_of(const inbox::HandlerState& handler) {
  Document out = {{"handler", handler.name},
                  {"mode", handler.mode},
                  {"topics", handler.topics},
                  {"types", handler.types},
                  {"started_from", handler.started_from},
                  {"paused_reason", text_of(handler.paused_reason)},
                  {"retired_at", time_of(handler.retired_at)}};
  put_count(out, "due", handler.due);
  put_count(out, "leased", handler.leased);
  put_count(out, "retrying", handler.retrying);
  put_count(out, "waiting", handler.waiting);
  put_count(out, "dead", handler.dead);
  out["oldest_due_age_seconds"] = seconds_of(handler.oldest_due_age);
  out["backfill"] = handler.backfill;
  return out;
}

Document document_of(const inbox::InstanceState& instance) {
  return {{"instance_id", instance.instance_id.text()},
          {"host", instance.worker.host},
          {"process_id", instance.worker.process_id},
          {"version", instance.version},
          {"started_at", time_of(instance.started_at)},
          {"last_seen_at", time_of(instance.last_seen_at)},
          {"unseen_seconds", seconds_of(instance.unseen)},
          {"is_gone", is_gone(instance)},
          {"trouble", text_of(instance.trouble)}};
}

Document document_of(const Situation& situation) {
  const Verdict verdict = judge(situation);
  Document out = {{"is_well", verdict.is_well},
                  {"verdict", verdict.sentence()},
                  {"problems", verdict.problems},
                  {"remarks", verdict.remarks},
                  {"topics", documents_of(situation.shards)},
                  {"handlers", documents_of(situation.handlers)},
                  {"instances", documents_of(situation.instances)}};
  put_count(out, "quarantined", situation.quarantined);
  return out;
}

std::vector<Operation> status_operations() {
  return {{"status",
           "Topics, handlers and daemons at a glance.",
           {{"status", "once"},
            {"status --watch", "again every two seconds, until Ctrl-C"},
            {"status --json", "for a program"}},
           Permission::read,
           Needs::database,
           {},
           status,
           answers::status}};
}

}  // namespace inboxd::admin
