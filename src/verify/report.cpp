#include "verify/report.hpp"

#include <algorithm>

#include "operations/documents.hpp"

namespace inboxd::verify {
namespace {

using operations::Document;

Document text_or_null(const std::string& text) { return text.empty() ? Document(nullptr) : Document(text); }

template <class T>
Document value_or_null(const std::optional<T>& value) {
  return value ? Document(*value) : Document(nullptr);
}

Document document_of(const Contradiction& found) {
  return {{"rule", found.rule},
          {"handler", text_or_null(found.handler)},
          {"topic", text_or_null(found.topic)},
          {"partition", value_or_null(found.partition)},
          {"offset", value_or_null(found.offset)},
          {"event_id", text_or_null(found.event_id)},
          {"received_at", operations::time_of(found.received_at)},
          {"detail", text_or_null(found.detail)},
          {"remedy", found.remedy}};
}

Document document_of(const PartitionResult& result) {
  return {{"topic", result.topic},
          {"partition", result.partition},
          {"from", result.from},
          {"position", result.position},
          {"verified_to", result.verified_to},
          {"lag", result.lag},
          {"records", result.records},
          {"events", result.events},
          {"duplicates", result.duplicates},
          {"quarantined", result.quarantined},
          {"skipped", result.skipped},
          {"in_gaps", result.in_gaps},
          {"not_checkable", result.not_checkable},
          {"forgotten", result.forgotten},
          {"other_id", result.other_id},
          {"absent", result.absent},
          {"not_in_kafka", result.not_in_kafka},
          {"contradictions", result.contradictions},
          {"problem", text_or_null(result.problem)}};
}

}  // namespace

Document document_of(const Report& report) {
  Document rules = Document::array();
  for (const auto& rule : report.rules) {
    rules.push_back({{"rule", rule.rule},
                     {"about", rule.about},
                     {"contradictions", rule.contradictions},
                     {"is_checked", rule.is_checked}});
  }
  Document partitions = Document::array();
  for (const auto& partition : report.partitions) partitions.push_back(document_of(partition));
  Document contradictions = Document::array();
  for (const auto& found : report.contradictions) contradictions.push_back(document_of(found));
  auto remarks = report.remarks;
  if (const auto records = report.not_checkable(); records > 0) {
    remarks.push_back(std::to_string(records) + (records == 1 ? " record" : " records") +
                      " could not be checked: retention may have deleted their events, ids or quarantined "
                      "rows, or an operator discarded them (column OLD)");
  }
  return {{"ok", report.is_good()},
          {"found", report.found},
          {"not_checkable", report.not_checkable()},
          {"sample", report.sample},
          {"interrupted", report.interrupted},
          {"rules", std::move(rules)},
          {"partitions", std::move(partitions)},
          {"contradictions", std::move(contradictions)},
          {"problems", report.problems},
          {"remarks", std::move(remarks)}};
}

}  // namespace inboxd::verify
