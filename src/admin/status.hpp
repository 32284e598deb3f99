#pragma once
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "inbox/operations_status.hpp"

namespace inboxd::admin {

/// A daemon reports every few seconds; after so long without it is taken for gone.
inline constexpr std::chrono::minutes long_unseen{1};

/// What `status` looks at.
struct Situation {
  std::vector<inbox::ShardState> shards;       ///< the newest of each partition
  std::vector<inbox::HandlerState> handlers;
  std::vector<inbox::InstanceState> instances;
  inbox::Count quarantined;
};

/// The sentence for a tired person. Problems need somebody now, remarks somebody one day.
struct Verdict {
  bool is_well = true;
  std::vector<std::string> problems;
  std::vector<std::string> remarks;
  std::string sentence() const;
};
Verdict judge(const Situation& situation);

/// What ends a halt, for the person who reads of it.
std::string advice_for(const inbox::ShardState& shard);

Document document_of(const Situation& situation);
Document document_of(const inbox::ShardState& shard);
Document document_of(const inbox::HandlerState& handler);
Document document_of(const inbox::InstanceState& instance);

}  // namespace inboxd::admin
