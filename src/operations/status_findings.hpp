#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "inbox/handler_order.hpp"
#include "inbox/unsubscribed.hpp"
#include "operations/finding_kinds.hpp"
#include "operations/handler_agreement.hpp"
#include "operations/outbox_queries.hpp"
#include "operations/partition_queries.hpp"
#include "operations/status_queries.hpp"
#include "operations/suspect_queries.hpp"

namespace inboxd::operations {

/// The facts that the findings of `status` are made from.
struct Situation {
  std::vector<PartitionState> partitions;  ///< the newest incarnation of each
  std::vector<HandlerState> handlers;      ///< without retired ones
  std::vector<HandlerState> retired;
  std::vector<InstanceState> instances;
  std::vector<SuspectState> suspects;  ///< the most crashes first
  QuarantineState quarantine;
  OutboxState outbox;
  std::vector<inbox::UnsubscribedEvents> unsubscribed;
  std::vector<RegisteredHandler> registered;  ///< by live daemons
  std::vector<SubscriptionGap> gaps;
  std::vector<inbox::MisplacedRows> misplaced;
  event::Microseconds now = 0;

  bool any_live() const;
};

/// Problems first.
std::vector<StatusFinding> findings_of(const Situation& situation);

/// Each adds the findings of one kind, or of few that exclude each other. Pure.
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

// handler_findings.cpp
void handlers_without_instance(const Situation& situation, List& out);
void retired_handlers(const Situation& situation, List& out);
void unread_topics(const Situation& situation, List& out);
void state_of_handlers(const Situation& situation, List& out);

// agreement_findings.cpp
void disagreements(const Situation& situation, List& out);
void subscription_gaps(const Situation& situation, List& out);
void misplaced_rows(const Situation& situation, List& out);
/// Whether a live daemon subscribes the handler to a topic that a newer registration has taken away.
bool is_rerouted(const Situation& situation, const std::string& handler);

// record_findings.cpp
void events_without_handler(const Situation& situation, List& out);
void quarantine(const Situation& situation, List& out);

}  // namespace findings

/// `at least 12`; with a thing, `1 message`, `2 messages`.
std::string count_text(const Count& count);
std::string count_text(const Count& count, const std::string& thing);
/// `12 minutes`.
std::string duration_sentence(std::chrono::microseconds duration);

}  // namespace inboxd::operations
