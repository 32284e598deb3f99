#include "operations/status_operation.hpp"

#include <algorithm>

#include "inbox/problem_text.hpp"
#include "operations/dead_queries.hpp"
#include "operations/documents.hpp"
#include "operations/history_queries.hpp"
#include "operations/operation_table.hpp"
#include "operations/ledger_queries.hpp"
#include "operations/size_queries.hpp"
#include "operations/status_texts.hpp"

namespace inboxd::operations {
namespace {

/// The most pairs of topic and type without a handler that are listed.
constexpr int max_unsubscribed = 10;

/// No daemon has read it for a day: its topic has left the configuration.
bool is_forsaken(const PartitionState& partition) {
  return !partition.halted_reason && partition.observed_age && *partition.observed_age > std::chrono::hours{24};
}

template <class List>
Document documents_of(const List& list) {
  Document out = Document::array();
  for (const auto& one : list) out.push_back(document_of(one));
  return out;
}

}  // namespace

Answer functions::status(Context& context, const Arguments& arguments) {
  auto& connection = *context.connection;
  Situation situation = read_situation(connection);
  if (context.shows_content) add_texts(connection, situation);
  situation.configured = context.handlers;
  Document document = document_of(situation);
  if (arguments.flag("sizes")) {
    document["sizes"] = document_of(read_sizes(connection), context.retention);
    const auto ledger = read_ledger(connection);
    document["sizes"]["ledger"] = document_of(ledger, ledger_advice(ledger, context.retention, context.filter_bytes));
  }
  return {document.at("is_well").get<bool>() ? base::ExitCode::done : base::ExitCode::no, document, ""};
}

Situation read_situation(inbox::Connection& connection) {
  Situation out;
  out.now = database_time(connection);
  out.partitions = read_partitions(connection, {{}, true, false});
  for (auto& handler : read_handlers(connection)) {
    (handler.retired_at ? out.retired : out.handlers).push_back(std::move(handler));
  }
  out.readings = read_readings(connection);
  out.instances = read_instances(connection);
  out.suspects = read_suspects(connection);
  out.quarantine = count_quarantined(connection);
  out.outbox = read_outbox_state(connection);
  out.unsubscribed = inbox::read_unsubscribed(connection, max_unsubscribed);
  out.registered = read_registered(connection);
  out.gaps = read_gaps(connection);
  out.misplaced = inbox::find_misplaced(connection);
  out.activities = read_activities(connection);
  out.dead_growth = read_dead_growth(connection);
  out.expired = read_expired_topics(connection);
  out.quarantine_growth = read_quarantine_growth(connection);
  out.blocked = read_blocked_keys(connection);
  out.ended = read_ended_instances(connection);
  const auto needs_time = [](const auto& one) { return one.second.sum.failed > 0 || one.second.sum.grown > 0; };
  if (std::any_of(out.activities.begin(), out.activities.end(), needs_time)) {
    out.recent = read_recent(connection, out.now);
  }
  if (out.any_live()) std::erase_if(out.partitions, is_forsaken);
  return out;
}

bool StatusJudgement::is_well() const { return messages(StatusFinding::Severity::problem).empty(); }

std::vector<std::string> StatusJudgement::messages(StatusFinding::Severity severity) const {
  std::vector<std::string> out;
  for (const StatusFinding& finding : findings) {
    if (finding.severity == severity) out.push_back(finding.message);
  }
  return out;
}

std::string StatusJudgement::sentence() const {
  if (findings.empty()) return "all is well";
  std::string out;
  for (const StatusFinding& finding : findings) out += (out.empty() ? "" : "; ") + finding.message;
  return is_well() ? "no problems; " + out : out;
}

StatusJudgement judge(const Situation& situation) { return {findings_of(situation)}; }

std::string advice_for(const PartitionState& partition) {
  if (!partition.halted_reason) return "";
  const std::string place = partition.topic + " " + std::to_string(partition.partition);
  if (partition.gap) return "inboxd partitions accept-gap " + place;
  if (partition.new_incarnation) return "inboxd partitions accept-recreated " + partition.topic;
  if (const auto trouble = inbox::problem_of(*partition.halted_reason); !trouble.remedy.empty()) return trouble.remedy;
  return "continues by itself once the cause is removed; the daemon's log says more";
}

Document document_of(const PartitionState& partition) {
  const auto number = [](const auto& value) { return value ? Document(*value) : Document(nullptr); };
  Document gaps = Document::array();
  for (const auto& range : partition.gaps.ranges()) gaps.push_back(range_of(range));
  return {{"partition_id", partition.shard_id},
          {"source", partition.source},
          {"topic", partition.topic},
          {"partition", partition.partition},
          {"incarnation", partition.incarnation},
          {"is_newest", partition.is_newest},
          {"epoch", number(partition.epoch)},
          {"position", number(partition.position)},
          {"high_watermark", number(partition.high_watermark)},
          {"lag", number(partition.lag())},
          {"observed_at", time_of(partition.observed_at)},
          {"observed_age_seconds", seconds_of(partition.observed_age)},
          {"last_stable_offset", number(partition.last_stable_offset)},
          {"transaction_open_since", partition.is_held() ? time_of(partition.held_since) : Document(nullptr)},
          {"halted_reason",
           partition.halted_reason ? Document(inbox::problem_of(*partition.halted_reason).problem) : Document(nullptr)},
          {"halted_at", time_of(partition.halted_at)},
          {"what_to_do", partition.halted_reason ? Document(advice_for(partition)) : Document(nullptr)},
          {"gap", partition.gap ? range_of(*partition.gap) : Document(nullptr)},
          {"new_incarnation", text_of(partition.new_incarnation)},
          {"accepted_gaps", std::move(gaps)}};
}

Document document_of(const HandlerState& handler, const ActivityState* activity) {
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
  out["next_deliver_at"] = time_of(handler.next_deliver_at);
  put_count(out, "dead", handler.dead);
  out["running_calls"] = activity == nullptr ? Document(nullptr) : Document(activity->sum.running_calls);
  out["concurrency"] = activity == nullptr ? Document(nullptr) : Document(activity->sum.concurrency);
  out["oldest_due_age_seconds"] = seconds_of(handler.oldest_due_age);
  out["oldest_retrying_age_seconds"] = seconds_of(handler.oldest_retrying_age);
  out["backfill"] = handler.backfill;
  out["window"] = handler.window;
  return out;
}

Document document_of(const InstanceState& instance) {
  return {{"instance_id", instance.instance_id.text()},    {"host", instance.worker.host},
          {"process_id", instance.worker.process_id},      {"version", instance.version},
          {"started_at", time_of(instance.started_at)},    {"last_seen_at", time_of(instance.last_seen_at)},
          {"unseen_seconds", seconds_of(instance.unseen)}, {"is_gone", !instance.is_live()},
          {"trouble", text_of(instance.trouble)},
          {"configuration", text_of(instance.configuration)},
          {"partitions", instance.partitions},
          {"brokers_unseen_seconds", seconds_of(instance.brokers_unseen)}};
}

Document document_of(const StatusFinding& finding) {
  return {{"severity", name_of(finding.severity)},
          {"kind", finding.kind},
          {"message", finding.message},
          {"remedy", finding.remedy.empty() ? Document(nullptr) : Document(finding.remedy)},
          {"since", time_of(finding.since)}};
}

Document document_of(const Situation& situation) {
  const StatusJudgement verdict = judge(situation);
  Document out = {{"is_well", verdict.is_well()},
                  {"verdict", verdict.sentence()},
                  {"problems", verdict.messages(StatusFinding::Severity::problem)},
                  {"remarks", verdict.messages(StatusFinding::Severity::remark)},
                  {"findings", documents_of(verdict.findings)},
                  {"topics", documents_of(situation.partitions)},
                  {"handlers", Document::array()},
                  {"instances", documents_of(situation.instances)}};
  for (const HandlerState& handler : situation.handlers) {
    out["handlers"].push_back(document_of(handler, activity_of(situation.activities, handler.handler_id)));
  }
  put_count(out, "quarantined", situation.quarantine.total);
  out["outbox"] = {{"oldest_seconds", seconds_of(situation.outbox.oldest_age)}};
  put_count(out["outbox"], "backlog", situation.outbox.backlog);
  put_count(out["outbox"], "waiting", situation.outbox.waiting);
  out["unsubscribed"] = Document::array();
  for (const auto& [topic, event_type, events] : situation.unsubscribed) {
    out["unsubscribed"].push_back({{"topic", topic}, {"event_type", event_type}, {"events", events}});
  }
  return out;
}

}  // namespace inboxd::operations
