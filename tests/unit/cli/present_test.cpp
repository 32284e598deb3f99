// What people read of documents.
#include "cli/present.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "admin/documents.hpp"
#include "admin/status.hpp"

using namespace inboxd;
using namespace inboxd::cli;
using admin::Document;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

admin::Situation situation(std::size_t partitions) {
  admin::Situation out;
  for (std::size_t i = 0; i < partitions; ++i) {
    inbox::ShardState shard;
    shard.topic = "orders";
    shard.partition = static_cast<std::int32_t>(i);
    shard.position = 1000;
    shard.high_watermark = 1010;
    out.shards.push_back(shard);
  }
  inbox::HandlerState handler;
  handler.name = "billing";
  handler.due = {12'345, false};
  out.handlers.push_back(handler);
  inbox::InstanceState instance;
  instance.worker = {"host-a", 42};
  instance.version = "1.2.3";
  out.instances.push_back(instance);
  return out;
}

Document event_document(const std::string& payload) {
  inbox::StoredEvent event;
  event.topic = "orders";
  event.event_type = "OrderPlaced";
  event.payload = payload;
  event.payload_size = static_cast<std::int64_t>(payload.size());
  Document out = admin::whole_of(event);
  out["is_purged"] = false;
  return {{"event", out}, {"handlers", Document::array()}, {"failures", Document::array()}};
}

}  // namespace

TEST_CASE("status begins with its verdict") {
  CHECK_THAT(present_status(admin::document_of(situation(2)), {}), StartsWith("all is well\n"));
}

TEST_CASE("status shows a line for each partition, and one for each topic where there are many") {
  const auto few = present_status(admin::document_of(situation(2)), {});
  CHECK_THAT(few, ContainsSubstring("orders          1     1,000  1,010   10\n"));
  const auto many = present_status(admin::document_of(situation(100)), {});
  CHECK_THAT(many, ContainsSubstring("orders         100    100,000  101,000  1,000       0\n"));
}

TEST_CASE("a halted partition is shouted with its reason and what to do, however many partitions there are") {
  auto it = situation(100);
  it.shards[3].halted_reason = "records 7 to 9 are gone\x1b[2J";
  it.shards[3].halted_at = 0;
  it.shards[3].gap = event::OffsetRange{7, 9};
  const auto text = present_status(admin::document_of(it), {});
  CHECK_THAT(text, StartsWith("1 partition is halted\n"
                              "HALTED orders/3 since 1970-01-01 00:00:00Z: records 7 to 9 are gone\\x1b[2J\n"
                              "       what to do: inboxd shards accept-gap orders 3\n"));
}

TEST_CASE("a payload is shown by lines, escaped, and no more of it than a person reads") {
  const auto text = present_event(event_document("{\n  \"a\": \"\x1b[31m\"\n}"), {});
  CHECK_THAT(text, ContainsSubstring("payload, 18 B\n  {\n    \"a\": \"\\x1b[31m\"\n  }\n"));
  const auto long_text = present_event(event_document(std::string(100'000, 'x')), {});
  CHECK(long_text.size() < 10'000);
  CHECK_THAT(long_text, ContainsSubstring("(--json shows all of it)"));
}

TEST_CASE("a payload that is no text is shown as base64, a tombstone as none") {
  CHECK_THAT(present_event(event_document("\xff"), {}), ContainsSubstring("  base64:/w==\n"));
  Document tombstone = event_document("");
  tombstone["event"]["payload"] = nullptr;
  tombstone["event"]["payload_size"] = nullptr;
  CHECK_THAT(present_event(tombstone, {}), ContainsSubstring("no payload (a tombstone)"));
}

TEST_CASE("what would be done is told apart from what was done") {
  Document document = {{"dry_run", true}, {"matched", 1200}, {"handlers", {{"billing", 1200}}}};
  CHECK(present_dead_change(document, {}) == "1,200 dead letters (billing 1,200)\n");
  document["more"] = true;
  CHECK(present_dead_change(document, {}) == "the first 1,200 dead letters (billing 1,200)\n");
  document["more"] = false;
  document["dry_run"] = false;
  document["replayed"] = 1199;
  document["restored"] = 3;
  CHECK(present_dead_change(document, {}) ==
        "1,200 dead letters (billing 1,200): 1,199 replayed, 3 of them restored after they had been purged\n");
}

TEST_CASE("of a handler that is not retired nothing is said that sounds as if it were") {
  Document document{{"dry_run", false},
                    {"refused", false},
                    {"handler", "leaving"},
                    {"was_retired", false},
                    {"run_by", {"host-a (process 42)"}},
                    {"events", 7},
                    {"dropped", 7},
                    {"backfill", 0}};
  CHECK(present_retired(document, {}) == "leaving is retired; 7 events that it was owed are dropped\n");
  document["refused"] = true;
  CHECK(present_retired(document, {}).empty());
  document["dry_run"] = true;
  CHECK(present_retired(document, {}).empty());
}
