#pragma once
#include <map>
#include <string>
#include <vector>

#include "integration/operations/operation_runner.hpp"

namespace inboxd::support {

inline config::Topic topic_named(const std::string& name) {
  config::Topic out;
  out.name = name;
  return out;
}

inline config::Topic by_position(const std::string& name = "orders") {
  config::Topic out = topic_named(name);
  out.on_missing_id = config::OnMissingId::position;
  return out;
}

/// The id comes from the payload.
inline config::Topic by_order(const std::string& name = "orders") {
  config::Topic out = topic_named(name);
  out.envelope = config::EnvelopeKind::custom;
  out.custom.id = "json:/id";
  return out;
}

/// Stores records of a shard that all go to quarantine.
inline void quarantine_records(Inbox& inbox, std::int32_t shard, std::int64_t at,
                               const std::vector<std::string>& payloads, const std::string& reason = "no_id") {
  Batch batch{inbox};
  batch.at(shard, at);
  for (const std::string& payload : payloads) {
    batch.reject(reason);
    auto& record = batch.get().rejected.back();
    record.payload = payload;
    record.payload_size = static_cast<std::int64_t>(payload.size());
  }
  batch.store(inbox.connection());
}

inline std::vector<std::string> orders(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(R"({"id": "A-)" + std::to_string(i) + "\"}");
  return out;
}

inline OperationRunner runner_for(Inbox& inbox, const std::vector<config::Topic>& topics) {
  OperationRunner out{inbox};
  out.context.topics = topics;
  return out;
}

inline const std::map<std::string, std::vector<std::string>> all{{"all", {"true"}}};

inline std::int64_t quarantined(Inbox& inbox) {
  return inbox.database().number("select count(*) from inbox.quarantine");
}
inline std::int64_t stored(Inbox& inbox) { return inbox.database().number("select count(*) from inbox.event"); }

/// The deliveries, in the order of creation.
inline std::string pending_runs(Inbox& inbox) {
  return inbox.database().text(
      "select coalesce(string_agg(pending::text, ' ' order by delivery_id), '') from inbox.delivery");
}

/// Number and reason of each record in quarantine.
inline std::string reasons(Inbox& inbox) {
  return inbox.database().text(
      "select coalesce(string_agg(quarantine_id || ' ' || reason, ', ' order by quarantine_id), '') "
      "from inbox.quarantine");
}

}  // namespace inboxd::support
