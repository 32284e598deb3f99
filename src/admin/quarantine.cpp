#include "admin/answers.hpp"
#include "admin/documents.hpp"
#include "admin/find_event.hpp"
#include "admin/operations.hpp"
#include "inbox/operations_quarantine.hpp"

namespace inboxd::admin {
namespace {

Document entry_document(const inbox::QuarantinedEntry& entry) {
  Document out{{"quarantine_id", entry.quarantine_id},
               {"reason", entry.reason},
               {"detail", entry.detail},
               {"event_id", entry.event_id ? Document(entry.event_id->text()) : Document(nullptr)},
               {"topic", entry.topic},
               {"partition", entry.partition},
               {"offset", entry.offset},
               {"key", bytes_of(entry.key)},
               {"payload_size", entry.payload_size},
               {"kafka_timestamp", time_of(entry.kafka_timestamp)},
               {"received_at", time_of(entry.received_at)}};
  if (entry.key_is_cut) out["key_is_cut"] = true;
  return out;
}

Document whole_document(const inbox::QuarantinedEntry& entry) {
  Document out = entry_document(entry);
  out["headers"] = headers_of(entry.headers);
  out["payload"] = bytes_of(entry.payload);
  return out;
}

Answer list(Context& context, const Arguments& arguments) {
  const inbox::QuarantineFilter filter{
      arguments.texts("topic"), arguments.texts("reason"), {arguments.time("since"), arguments.time("until")}};
  Document records = Document::array();
  for (const auto& entry : inbox::list_quarantined(*context.connection, filter, *arguments.number("limit"))) {
    records.push_back(entry_document(entry));
  }
  Answer out;
  if (records.empty()) out = {base::ExitCode::no, nullptr, "nothing in quarantine matches"};
  out.document = {{"records", std::move(records)}};
  return out;
}

Answer show(Context& context, const Arguments& arguments) {
  const std::string id = *arguments.text("id");
  std::vector<inbox::QuarantinedEntry> found;
  if (const auto place = parse_place(id)) {
    found = inbox::find_quarantined(*context.connection, place->topic, place->partition, place->offset);
  } else if (const auto number = parse_number(id)) {
    found = inbox::find_quarantined(*context.connection, *number);
  } else {
    return {base::ExitCode::usage, nullptr,
            "quarantine show: ID is the number that `quarantine list` shows, or TOPIC/PARTITION/OFFSET"};
  }
  Document records = Document::array();
  for (const auto& entry : found) records.push_back(whole_document(entry));
  Answer out;
  if (records.empty()) out = {base::ExitCode::no, nullptr, "no such record is in quarantine"};
  out.document = {{"records", std::move(records)}};
  return out;
}

}  // namespace

std::vector<Operation> quarantine_operations() {
  using Kind = Parameter::Kind;
  return {
      {"quarantine list",
       "Records that could not become events, newest first.",
       {{"quarantine list", "the newest"},
        {"quarantine list --topic orders --since 2h", "those of a topic, of the last two hours"},
        {"quarantine list --reason conflict --json", "records whose id came before with other content, for a program"}},
       Permission::read,
       Needs::database,
       {{"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
        {"reason", Kind::texts, "no_id, bad_id, too_large, undecodable, conflict or poison", "REASON"},
        since_parameter("received"),
        until_parameter("received"),
        limit_parameter(50)},
       list,
       answers::quarantine_list},
      {"quarantine show",
       "One record as it came from Kafka, and why it is no event.",
       {{"quarantine show 12", "by the number that the list shows"},
        {"quarantine show orders/3/81723", "by topic, partition and offset"}},
       Permission::read,
       Needs::database,
       {{"id", Kind::text, "number, or TOPIC/PARTITION/OFFSET", "ID", Parameter::Place::word}},
       show,
       answers::quarantine_show},
  };
}

}  // namespace inboxd::admin
