// Documents as text for people.
#include "cli/present.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/uuid.hpp"
#include "operations/documents.hpp"
#include "operations/status_operation.hpp"

using namespace inboxd;
using namespace inboxd::cli;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using operations::Document;

namespace {

operations::Situation situation(std::size_t partitions) {
  operations::Situation out;
  for (std::size_t i = 0; i < partitions; ++i) {
    operations::PartitionState partition;
    partition.topic = "orders";
    partition.partition = static_cast<std::int32_t>(i);
    partition.position = 1000;
    partition.high_watermark = 1010;
    partition.observed_age = std::chrono::seconds{1};
    partition.any_live = true;
    out.partitions.push_back(partition);
  }
  operations::HandlerState handler;
  handler.handler_id = 7;
  handler.name = "billing";
  handler.due = {12'345, false};
  out.handlers.push_back(handler);
  operations::InstanceState instance;
  instance.worker = {"host-a", 42};
  instance.version = "1.2.3";
  instance.handlers = {7};
  out.instances.push_back(instance);
  return out;
}

Document event_document(const std::string& payload) {
  const Document event{{"event_id", base::Uuid{}.text()},
                       {"topic", "orders"},
                       {"partition", 0},
                       {"offset", 0},
                       {"event_type", "OrderPlaced"},
                       {"payload_size", payload.size()},
                       {"payload", operations::bytes_of(payload)},
                       {"is_purged", false}};
  return {{"event", event}, {"handlers", Document::array()}, {"failures", Document::array()}};
}

}  // namespace

TEST_CASE("status begins with its verdict") {
  CHECK_THAT(present_status(operations::document_of(situation(2)), {}), StartsWith("all is well\n"));
}

TEST_CASE("status shows a line for each partition, and a line for each topic where there are many") {
  const auto few = present_status(operations::document_of(situation(2)), {});
  CHECK_THAT(few, ContainsSubstring("orders          1     1,000  1,010   10\n"));
  const auto many = present_status(operations::document_of(situation(100)), {});
  CHECK_THAT(many, ContainsSubstring("orders         100    100,000  101,000  1,000       0\n"));
}

TEST_CASE("an unknown lag is a question mark with the age of the last observation, never 0") {
  auto it = situation(2);
  it.partitions[0].position = 1010;
  it.partitions[0].observed_age = std::chrono::minutes{12};
  it.partitions[1].high_watermark.reset();
  it.partitions[1].observed_age.reset();
  const auto few = present_status(operations::document_of(it), {});
  CHECK_THAT(few, ContainsSubstring("orders          0     1,010     ?  ? (12 min)\n"));
  CHECK_THAT(few, ContainsSubstring("orders          1     1,000     ?           ?\n"));
  auto many = situation(100);
  many.partitions[7].observed_age = std::chrono::hours{5};
  CHECK_THAT(present_status(operations::document_of(many), {}),
             ContainsSubstring("orders         100    100,000     ?  ? (5 h)       0\n"));
}

TEST_CASE("a halted partition is shown with reason and remedy, also among many partitions") {
  auto it = situation(100);
  it.partitions[3].halted_reason = "records 7 to 9 are gone\x1b[2J";
  it.partitions[3].halted_at = 0;
  it.partitions[3].gap = event::OffsetRange{7, 9};
  const auto text = present_status(operations::document_of(it), {});
  CHECK_THAT(text, StartsWith("1 problem, since 1970-01-01T00:00:00Z\n"
                              "PROBLEM 1 partition is halted\n"
                              "HALTED  orders/3 since 1970-01-01 00:00:00Z: records 7 to 9 are gone\\x1b[2J\n"
                              "        remedy: inboxd partitions accept-gap orders 3\n"));
}

TEST_CASE("status shows each problem and remark on a line, with its remedy") {
  auto it = situation(1);
  it.handlers[0].dead = {2, false};
  it.quarantine = {{{"orders", "no_id", 3}}, {3, false}};
  CHECK_THAT(present_status(operations::document_of(it), {}),
             StartsWith("no problems\n"
                        "remark  handler billing has 2 dead letters\n"
                        "        remedy: inboxd dead list --handler billing\n"
                        "remark  3 in quarantine, all of topic orders, reason no_id\n"
                        "        remedy: set on_missing_id or "
                        "custom.id (with envelope: custom) for topic orders, restart the daemon, "
                        "then inboxd quarantine retry --topic orders\n\n"));
  it.instances.clear();
  CHECK_THAT(present_status(operations::document_of(it), {}), StartsWith("1 problem\nPROBLEM no daemon is running\n"));
}

TEST_CASE("a payload is shown line by line, escaped, and cut to a readable length") {
  const auto text = present_event(event_document("{\n  \"a\": \"\x1b[31m\"\n}"), {});
  CHECK_THAT(text, ContainsSubstring("payload, 18 B\n  {\n    \"a\": \"\\x1b[31m\"\n  }\n"));
  const auto long_text = present_event(event_document(std::string(100'000, 'x')), {});
  CHECK(long_text.size() < 10'000);
  CHECK_THAT(long_text, ContainsSubstring("(--json shows all of it)"));
}

TEST_CASE("a payload that is not UTF-8 is shown as base64, a tombstone as none") {
  CHECK_THAT(present_event(event_document("\xff"), {}), ContainsSubstring("  base64:/w==\n"));
  Document tombstone = event_document("");
  tombstone["event"]["payload"] = nullptr;
  tombstone["event"]["payload_size"] = nullptr;
  CHECK_THAT(present_event(tombstone, {}), ContainsSubstring("no payload (a tombstone)"));
}

namespace {
const std::string running_calls_first =
    "; a sequential handler continues in their partitions once its running calls there have ended\n";
}

TEST_CASE("a dry run and a change of dead letters differ in their text") {
  Document document = {{"dry_run", true}, {"matched", 1200}, {"handlers", {{"billing", 1200}}}};
  CHECK(present_dead_change(document, {}) == "1,200 dead letters (billing 1,200)\n");
  document["more"] = true;
  CHECK(present_dead_change(document, {}) == "the first 1,200 dead letters (billing 1,200)\n");
  document["more"] = false;
  document["dry_run"] = false;
  document["replayed"] = 1199;
  document["restored"] = 3;
  CHECK(present_dead_change(document, {}) ==
        "1,200 dead letters (billing 1,200): 1,199 replayed, 3 of them restored after a purge" + running_calls_first);
  CHECK(present_dead_change({{"dry_run", true}, {"matched", 1}, {"handlers", {{"billing", 1}}}, {"parked", 5}}, {}) ==
        "1 dead letter (billing 1), with 5 events parked behind\n");
}

TEST_CASE("a list of dead letters shows the place and the type of each event") {
  const Document letter = {
      {"dead_letter_id", 4711}, {"handler", "billing"}, {"state", "dead"},          {"attempts", 3},
      {"died_at", nullptr},     {"error_class", "c"},   {"last_error", "too slow"}, {"notes", nullptr},
      {"event", event_document("").at("event")}};
  const Document group = {{"handler", "billing"}, {"dead", 2}, {"first_died_at", nullptr}, {"last_died_at", nullptr}};
  const std::string text =
      present_dead_list({{"total", 2}, {"groups", {group}}, {"dead_letters", {letter, letter}}}, {});
  CHECK_THAT(text, ContainsSubstring("000000000000  orders/0/0  OrderPlaced  dead          3  c      too slow\n"));
}

TEST_CASE("lanes show their key, and a release how many events it gives back") {
  const Document lane = {{"handler", "billing"}, {"key", "k-1"},  {"state", "parked"}, {"waiting", 1200},
                         {"head_event_id", "e"}, {"attempts", 3}, {"due_at", nullptr}, {"last_error", "timeout"}};
  const std::string text = present_lanes({{"lanes", {lane}}}, {});
  CHECK(text.find("HANDLER") == 0);
  for (const std::string word : {"k-1", "parked", "1,200", "timeout"}) CHECK(text.find(word) != std::string::npos);
  CHECK(present_lanes_change(
            {{"dry_run", false}, {"matched", 1}, {"handlers", {{"billing", 1}}}, {"waiting", 7}, {"released", 7}},
            {}) == "1 parked key (billing 1) with 7 waiting events: 7 released" + running_calls_first);
}

TEST_CASE("a change of an event shows its state, then the result") {
  Document document = {{"dry_run", true}, {"event_id", "e"},   {"handler", "billing"},         {"state", "retrying"},
                       {"attempts", 2},   {"due_at", nullptr}, {"last_error", "timeout: slow"}};
  CHECK(present_event_change(document, {}) == "event e for billing, retrying after 2 attempts: timeout: slow\n");
  document["retried"] = true;
  CHECK(present_event_change(document, {}) == "event e for billing is due now\n");
}

TEST_CASE("a retry shows how many records became events, and why the others stay") {
  Document document = {{"dry_run", true}, {"matched", 3},    {"more", false}, {"topics", {{"orders", 3}}},
                       {"events", 2},     {"duplicates", 0}, {"skipped", 0},  {"still", {{"no_id", 1}}}};
  CHECK(present_quarantine_change(document, {}) ==
        "3 records (orders 3): 2 would become events, 0 would be duplicates; would stay: no_id 1\n");
  document["dry_run"] = false;
  document["skipped"] = 1;
  document["still"] = Document::object();
  document["not_kept"] = 4;
  CHECK(present_quarantine_change(document, {}) ==
        "3 records (orders 3): 2 became events, 0 were duplicates, 1 skipped; 4 more were too large to keep and cannot "
        "be retried\n");
  CHECK(present_quarantine_change({{"dry_run", false}, {"matched", 1}, {"topics", {{"orders", 1}}}, {"discarded", 1}},
                                  {}) == "1 record (orders 1): 1 discarded\n");
}

TEST_CASE("retiring and restoring a handler show the fate of its events and the daemons that configure it") {
  Document document{
      {"dry_run", false}, {"handler", "leaving"}, {"was_retired", false}, {"configured_by", {"host-a (process 42)"}},
      {"events", 7},      {"dropped", 7},         {"backfill", 0}};
  CHECK(present_retired(document, {}) ==
        "leaving is retired; 7 pending events are dropped\n"
        "these daemons configure it, and stop running it: host-a (process 42)\n");
  CHECK(present_restored(document, {}) == "leaving is not retired; nothing to do\n");
  document["was_retired"] = true;
  CHECK(present_restored(document, {}) ==
        "leaving is restored; it gets events stored from now on\n"
        "these daemons configure it, and run it within seconds: host-a (process 42)\n");
  document["configured_by"] = Document::array();
  CHECK(present_restored(document, {}) ==
        "leaving is restored; it gets events stored from now on\n"
        "no running daemon configures it\n");
  CHECK(present_retired({{"did_you_mean", "leaving"}}, {}).empty());
}

TEST_CASE("a replay and a release say that the handler's running calls come first") {
  Document replay{{"matched", 2}, {"handlers", {{"billing", 2}}}, {"dry_run", false}, {"replayed", 2}, {"restored", 0}};
  CHECK_THAT(present_dead_change(replay, {}),
             ContainsSubstring("2 replayed; a sequential handler continues in their partitions once its"));
  replay["dry_run"] = true;
  CHECK_THAT(present_dead_change(replay, {}), !ContainsSubstring("running calls"));
  const Document release{{"matched", 1}, {"handlers", {{"billing", 1}}}, {"waiting", 3}, {"released", 3}};
  CHECK_THAT(present_lanes_change(release, {}), ContainsSubstring("3 released; a sequential handler continues"));
}

TEST_CASE("an event and its trace have a line for each handler that has yet to handle it") {
  const auto handler = [](const char* name, const char* state, int attempts, const Document& paused = nullptr) {
    return Document{{"handler", name}, {"state", state}, {"attempts", attempts}, {"due_at", nullptr},
                    {"finished_at", nullptr}, {"last_error", nullptr}, {"worker", nullptr}, {"paused_reason", paused}};
  };
  Document document = event_document("{}");
  document["timeline"] = Document::array();
  document["event"]["received_at"] = "2026-11-27T20:00:00Z";
  document["handlers"] = {handler("first", "due", 0, "a bug\x1b[2J"), handler("second", "missing", 0),
                          handler("third", "backfill", 0), handler("fourth", "retrying", 2)};
  Document done = handler("fifth", "done", 1);
  done["finished_at"] = "2026-11-27T20:00:01Z";
  document["handlers"].push_back(done);
  const std::string lines =
      "first: pending since 2026-11-27T20:00:00Z, handler paused: a bug\\x1b[2J\n"
      "second: no state; see inboxd verify --against database\n"
      "third: a back-fill has yet to deliver it; see inboxd handlers list\n"
      "fourth: pending after 2 attempts, retrying\n";
  CHECK_THAT(present_event(document, {}), ContainsSubstring("\n" + lines) && !ContainsSubstring("fifth: "));
  CHECK_THAT(present_trace(document, {}), EndsWith("\n" + lines));
}
