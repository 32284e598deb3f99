#include "operations/status_findings.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "config/suggest.hpp"
#include "config/units.hpp"
#include "inbox/handler_registration.hpp"

namespace inboxd::operations {
namespace {

using Findings = std::vector<StatusFinding>;
using Severity = StatusFinding::Severity;

constexpr auto long_waiting = std::chrono::minutes{5};
constexpr auto long_transaction = std::chrono::minutes{1};
/// The most groups of quarantined records that one line names.
constexpr std::size_t most_groups = 3;

void problem(Findings& out, std::string kind, std::string message, std::string remedy) {
  out.push_back({Severity::problem, std::move(kind), std::move(message), std::move(remedy)});
}

void remark(Findings& out, std::string kind, std::string message, std::string remedy = "") {
  out.push_back({Severity::remark, std::move(kind), std::move(message), std::move(remedy)});
}

std::string count_text(const Count& count) {
  return (count.at_least ? "at least " : "") + std::to_string(count.number);
}

std::string count_text(const Count& count, const std::string& thing) {
  return count_text(count) + " " + thing + (count.number == 1 ? "" : "s");
}

std::string duration_sentence(std::chrono::microseconds duration) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(duration).count();
  if (minutes == 1) return "1 minute";
  if (minutes < 120) return std::to_string(minutes) + " minutes";
  if (minutes < 48 * 60) return std::to_string(minutes / 60) + " hours";
  return std::to_string(minutes / 60 / 24) + " days";
}

/// ` (did you mean orders?)`; empty if no candidate is similar.
std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const auto near = config::closest(word, candidates);
  return near ? " (did you mean " + *near + "?)" : "";
}

bool any_live(const Situation& situation) {
  return std::any_of(situation.instances.begin(), situation.instances.end(),
                     [](const auto& instance) { return instance.is_live(); });
}

void add_halted_partitions(const Situation& situation, Findings& out) {
  const auto halted = std::count_if(situation.partitions.begin(), situation.partitions.end(),
                                    [](const auto& partition) { return partition.halted_reason.has_value(); });
  if (halted == 0) return;
  const std::string partitions = halted == 1 ? " partition is" : " partitions are";
  problem(out, "partition_halted", std::to_string(halted) + partitions + " halted", "inboxd partitions list --halted");
}

void add_missing_daemon(const Situation& situation, Findings& out) {
  if (any_live(situation)) return;
  problem(out, "no_live_daemon", "no daemon is running",
          "start `inboxd run`; the log of the last daemon says why it ended");
}

void add_failing_daemons(const Situation& situation, Findings& out) {
  for (const auto& instance : situation.instances) {
    if (!instance.trouble || !instance.is_live()) continue;
    const std::string message = instance.worker.host + ": " + *instance.trouble;
    const bool is_told = std::any_of(out.begin(), out.end(), [&](const auto& one) { return one.message == message; });
    if (is_told) continue;
    problem(out, "daemon_in_trouble", message, "see the daemon's log; inboxd check tests brokers, database and topics");
  }
}

/// A consumer of committed records stops at the oldest open transaction. The brokers report its first offset; only
/// Kafka's tool names the producer.
void add_open_transactions(const Situation& situation, Findings& out) {
  for (const auto& held : situation.partitions) {
    if (!held.is_held() || *held.held_for < long_transaction) continue;
    const std::string of_partition = " --topic " + held.topic + " --partition " + std::to_string(held.partition);
    const std::string offset = std::to_string(*held.last_stable_offset);
    remark(out, "transaction_open",
           "an open transaction holds " + held.topic + "/" + std::to_string(held.partition) + " back at offset " +
               offset + " since " + config::time_text(*held.held_since) + " (" + duration_sentence(*held.held_for) +
               "); " + std::to_string(*held.lag()) + " records wait",
           "kafka-transactions.sh describe-producers" + of_partition + " names the producer; abort" + of_partition +
               " --start-offset " + offset + " ends its transaction");
  }
}

/// Removed from every configuration, or renamed without an alias.
void add_handlers_without_instance(const Situation& situation, Findings& out) {
  for (const auto& handler : handlers_without_instance(situation.handlers, situation.instances)) {
    problem(out, "handler_without_instance",
            "no daemon runs handler " + handler.name + ", which has " + count_text(handler.pending(), "pending event"),
            "configure it again, list it in aliases of its successor, or run inboxd handlers retire " + handler.name);
  }
}

/// Retired handlers that a configuration still names.
void add_retired_handlers(const Situation& situation, Findings& out) {
  for (const auto& handler : situation.retired) {
    std::vector<std::string> daemons;
    for (const auto& instance : situation.instances) {
      const auto& ids = instance.handlers;
      if (!instance.is_live() || std::find(ids.begin(), ids.end(), handler.handler_id) == ids.end()) continue;
      daemons.push_back(instance.worker.host + " (process " + std::to_string(instance.worker.process_id) + ")");
    }
    if (daemons.empty()) continue;
    remark(out, "handler_retired",
           "handler " + handler.name + " is retired, and still configured on " + base::joined(daemons),
           "inboxd handlers restore " + handler.name + ", or remove it from the configuration");
  }
}

void add_unread_topics(const Situation& situation, Findings& out) {
  std::vector<std::string> read;
  for (const auto& instance : situation.instances) {
    if (instance.is_live()) read.insert(read.end(), instance.topics.begin(), instance.topics.end());
  }
  for (const auto& [handler, topic] : unread_subscriptions(situation.handlers, situation.instances)) {
    problem(
        out, "topic_not_read",
        "handler " + handler + " subscribes to topic " + topic + ", which no daemon reads" + suggestion(topic, read),
        "add " + topic + " to topics, or correct handlers[].subscribe.topics of " + handler);
  }
}

/// The most similar subscription to a type, among handlers that subscribe to the topic.
std::string nearest_subscription(const Situation& situation, const inbox::UnsubscribedEvents& events) {
  std::map<std::string, std::string> handler_of;
  std::vector<std::string> types;
  for (const auto& handler : situation.handlers) {
    if (handler.retired_at || !inbox::matches(events.topic, handler.topics)) continue;
    for (const std::string& type : handler.types) {
      if (handler_of.emplace(type, handler.name).second) types.push_back(type);
    }
  }
  const auto near = config::closest(events.event_type, types);
  if (!near) return "";
  return "; handler " + handler_of.at(*near) + " subscribes to " + *near + ": did you mean " + events.event_type + "?";
}

void add_events_without_handler(const Situation& situation, Findings& out) {
  for (const auto& events : situation.unsubscribed) {
    const std::string type = events.event_type.empty() ? "without a type" : "type " + events.event_type;
    problem(out, "events_without_handler",
            "no handler subscribes to " + std::to_string(events.events) + " stored events of topic " + events.topic +
                ", " + type + nearest_subscription(situation, events),
            "for new events, correct handlers[].subscribe; for stored ones, add a handler of this type alone with "
            "start: beginning; to ignore the type, subscribe a handler with plugin: log");
  }
}

void add_state_of_handlers(const Situation& situation, Findings& out) {
  for (const auto& handler : situation.handlers) {
    if (handler.retired_at) continue;
    if (handler.paused_reason && handler.has_paused_itself) {
      problem(out, "handler_paused_itself", "handler " + handler.name + " has paused itself: " + *handler.paused_reason,
              "correct the cause, then inboxd handlers resume " + handler.name);
    } else if (handler.paused_reason) {
      remark(out, "handler_paused", "handler " + handler.name + " is paused: " + *handler.paused_reason);
    } else if (handler.oldest_due_age && *handler.oldest_due_age > long_waiting) {
      remark(out, "handler_behind",
             "handler " + handler.name + " is " + duration_sentence(*handler.oldest_due_age) + " behind");
    }
    if (handler.parked > 0) {
      remark(out, "events_parked",
             "handler " + handler.name + " has " + std::to_string(handler.parked) +
                 " events parked behind dead letters of their keys",
             "inboxd lanes list --handler " + handler.name + ", then dead replay or lanes release");
    }
    if (handler.dead.number > 0) {
      remark(out, "dead_letters", "handler " + handler.name + " has " + count_text(handler.dead, "dead letter"),
             "inboxd dead list --handler " + handler.name);
    }
  }
}

std::string remedy_for_quarantined(const std::string& reason) {
  if (reason == "no_id") {
    return "set topics[].on_missing_id or envelope: custom, restart the daemon, then inboxd quarantine retry";
  }
  if (reason == "bad_id") return "correct custom.id, restart the daemon, then inboxd quarantine retry";
  if (reason == "too_large") return "raise topics[].payload_limit";
  return "inboxd quarantine list";
}

void add_quarantine(const Situation& situation, Findings& out) {
  const auto& [groups, total] = situation.quarantine;
  if (total.number == 0) return;
  std::string message = count_text(total) + " in quarantine";
  if (groups.size() == 1) {
    message += ", all of topic " + groups[0].topic + ", reason " + groups[0].reason;
    remark(out, "quarantine", message, remedy_for_quarantined(groups[0].reason));
    return;
  }
  for (std::size_t i = 0; i < std::min(groups.size(), most_groups); ++i) {
    message += (i == 0 ? ": " : ", ") + std::to_string(groups[i].records) + " of topic " + groups[i].topic +
               ", reason " + groups[i].reason;
  }
  remark(out, "quarantine", message + (groups.size() > most_groups ? ", and others" : ""), "inboxd quarantine list");
}

void add_outbox(const Situation& situation, Findings& out) {
  const OutboxState& outbox = situation.outbox;
  if (outbox.stopped.number > 0) {
    problem(out, "messages_stopped",
            count_text(outbox.waiting, "message") + " of the outbox cannot be sent, or wait behind such a message",
            "inboxd outbox list, mend the topic, then inboxd outbox retry or skip");
  }
  if (outbox.oldest_age && *outbox.oldest_age > long_waiting) {
    remark(out, "outbox_behind",
           "the outbox is " + duration_sentence(*outbox.oldest_age) + " behind, with " +
               count_text(outbox.backlog, "message") + " to send",
           "check the brokers, and that an instance runs with outbox.relay: true");
  }
}

}  // namespace

const char* name_of(StatusFinding::Severity severity) { return severity == Severity::problem ? "problem" : "remark"; }

std::vector<StatusFinding> findings_of(const Situation& situation) {
  constexpr std::array all{add_halted_partitions,
                           add_open_transactions,
                           add_missing_daemon,
                           add_failing_daemons,
                           add_unread_topics,
                           add_events_without_handler,
                           add_handlers_without_instance,
                           add_retired_handlers,
                           add_state_of_handlers,
                           add_quarantine,
                           add_outbox};
  Findings out;
  for (const auto add : all) add(situation, out);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.severity < b.severity; });
  return out;
}

}  // namespace inboxd::operations
