#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "history/series.hpp"
#include "inbox/handler_order.hpp"
#include "inbox/unsubscribed.hpp"
#include "operations/activity_queries.hpp"
#include "operations/finding_kinds.hpp"
#include "operations/handler_agreement.hpp"
#include "operations/partition_queries.hpp"
#include "operations/reading_queries.hpp"
#include "operations/status_queries.hpp"

namespace inboxd::operations {

/// The facts that the findings of `status` are made from.
struct Situation {
  std::vector<PartitionState> partitions;  ///< the newest incarnation of each
  std::vector<PartitionReading> readings;
  std::vector<HandlerState> handlers;      ///< without retired handlers
  std::vector<HandlerState> retired;
  std::vector<InstanceState> instances;
  std::vector<SuspectState> suspects;  ///< the most crashes first
  QuarantineState quarantine;
  OutboxState outbox;
  std::vector<inbox::UnsubscribedEvents> unsubscribed;
  std::vector<RegisteredHandler> registered;  ///< by live daemons
  std::vector<SubscriptionGap> gaps;
  std::vector<inbox::MisplacedRows> misplaced;
  Activities activities;
  std::vector<DeadGrowth> dead_growth;
  std::vector<ExpiredTopic> expired;
  std::vector<QuarantineGrowth> quarantine_growth;
  std::vector<BlockedKeys> blocked;
  std::map<std::int32_t, EndedInstance> ended;  ///< the last daemon of a handler, by its id
  history::View recent;                 ///< the last hour, in minutes; empty unless a handler fails or falls behind
  std::vector<std::string> configured;  ///< handlers of the caller's file
  event::Microseconds now = 0;          ///< by the database's clock

  bool any_live() const;
  /// A live instance has the handler.
  bool is_run(const HandlerState& handler) const;
  /// Null: the handler is retired, or unknown.
  const HandlerState* handler(std::int32_t handler_id) const;
};

/// Everything but `configured`, and the texts that add_texts adds.
Situation read_situation(inbox::Connection& connection);

/// Handlers with pending events that no live instance runs: renamed without an alias, or removed from every
/// configuration. None if no instance is live.
std::vector<HandlerState> handlers_without_instance(const Situation& situation);

/// A subscription to a topic, or a prefix of topics, that no live instance reads.
struct UnreadSubscription {
  std::string handler;
  std::string topic;
  bool operator==(const UnreadSubscription&) const = default;
};
/// None until every live instance has recorded its topics.
std::vector<UnreadSubscription> unread_subscriptions(const Situation& situation);

/// Problems first.
std::vector<StatusFinding> findings_of(const Situation& situation);

/// Each adds the findings of a single kind, or of few kinds that exclude each other. Pure. The findings about
/// partitions whose records wait unread.
std::vector<StatusFinding> partition_findings(const std::vector<PartitionReading>& readings, event::Microseconds now);

namespace findings {

using List = std::vector<StatusFinding>;

// status_findings.cpp: intake, daemons, outbox
void halted_partitions(const Situation& situation, List& out);
void open_transactions(const Situation& situation, List& out);
void missing_daemon(const Situation& situation, List& out);
void failing_daemons(const Situation& situation, List& out);
void outbox(const Situation& situation, List& out);

// crash_findings.cpp
void crashes(const Situation& situation, List& out);

// partition_findings.cpp
void unread_partitions(const Situation& situation, List& out);

// handler_findings.cpp
void handlers_without_instance(const Situation& situation, List& out);
void retired_handlers(const Situation& situation, List& out);
void unregistered_handlers(const Situation& situation, List& out);
void unread_topics(const Situation& situation, List& out);
void state_of_handlers(const Situation& situation, List& out);

// agreement_findings.cpp
void disagreements(const Situation& situation, List& out);
void subscription_gaps(const Situation& situation, List& out);
void misplaced_rows(const Situation& situation, List& out);
/// Whether a live daemon subscribes the handler to a topic that a newer registration has taken away.
bool is_rerouted(const Situation& situation, const std::string& handler);
// activity_findings.cpp
void failing_calls(const Situation& situation, List& out);
void services_away(const Situation& situation, List& out);
void slow_handlers(const Situation& situation, List& out);
void unkeyed_events(const Situation& situation, List& out);
void null_paths(const Situation& situation, List& out);
void blocked_keys(const Situation& situation, List& out);
/// Another finding says that most of its calls fail.
bool is_failing(const Situation& situation, const HandlerState& handler);

// record_findings.cpp
void dead_letters(const Situation& situation, List& out);
void expired_topics(const Situation& situation, List& out);
void events_without_handler(const Situation& situation, List& out);
void quarantine(const Situation& situation, List& out);

}  // namespace findings

/// `at least 12`; with a thing, `1 message`, `2 messages`.
std::string count_text(const Count& count);
std::string count_text(const Count& count, const std::string& thing);
/// A time to the second.
std::string clock_text(event::Microseconds time);
/// `12 minutes`.
std::string duration_sentence(std::chrono::microseconds duration);

}  // namespace inboxd::operations
