#pragma once
#include <string>
#include <vector>

#include "inbox/unsubscribed.hpp"
#include "operations/outbox_queries.hpp"
#include "operations/partition_queries.hpp"
#include "operations/status_queries.hpp"

namespace inboxd::operations {

struct Situation {
  std::vector<PartitionState> partitions;  ///< the newest incarnation of each
  std::vector<HandlerState> handlers;      ///< without retired ones
  std::vector<HandlerState> retired;
  std::vector<InstanceState> instances;
  QuarantineState quarantine;
  OutboxState outbox;
  std::vector<inbox::UnsubscribedEvents> unsubscribed;
};

struct StatusFinding {
  enum class Severity {
    problem,  ///< an operator must act: `status` exits with 1
    remark,   ///< worth knowing
  };
  Severity severity = Severity::remark;
  std::string kind;     ///< stable, for programs: `partition_halted`
  std::string message;  ///< the fact, without a period
  std::string remedy;   ///< the next step; may be empty
};

const char* name_of(StatusFinding::Severity severity);

/// Problems first. Each kind of finding is one function of the list in status_findings.cpp.
std::vector<StatusFinding> findings_of(const Situation& situation);

}  // namespace inboxd::operations
