#pragma once
#include <string>
#include <vector>

#include "operations/operation.hpp"
#include "operations/status_findings.hpp"

namespace inboxd::operations {

/// The findings of `status` and their sum.
struct StatusJudgement {
  std::vector<StatusFinding> findings;  ///< problems first
  bool is_well() const;                 ///< none of them is a problem
  std::vector<std::string> messages(StatusFinding::Severity severity) const;
  std::string sentence() const;
};
StatusJudgement judge(const Situation& situation);

/// The command or condition that ends a halt; empty if the partition is not halted.
std::string advice_for(const PartitionState& partition);

Document document_of(const Situation& situation);
Document document_of(const PartitionState& partition);
/// `activity`: of live instances; null if there is none.
Document document_of(const HandlerState& handler, const ActivityState* activity);
Document document_of(const InstanceState& instance);
Document document_of(const StatusFinding& finding);

}  // namespace inboxd::operations
