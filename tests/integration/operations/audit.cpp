#include <catch2/catch_test_macros.hpp>

#include "integration/operations/operation_runner.hpp"
#include "operations/handler_queries.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

std::string operations_of(Inbox& inbox, const Given& given) {
  const auto answer = OperationRunner{inbox}.run("audit list", given);
  std::string out;
  for (const auto& change : answer.document.at("changes")) {
    out += (out.empty() ? "" : ", ") + change.at("operation").get<std::string>();
  }
  return out;
}

}  // namespace

TEST_CASE("changes of subscriptions are in the audit, newest first") {
  Inbox inbox;
  auto handler = handler_named("receipt");
  inbox::register_handlers(inbox.connection(), {handler});
  handler.types = {"OrderPlaced"};
  inbox::register_handlers(inbox.connection(), {handler});
  OperationRunner runner{inbox};
  runner.run("handlers retire", {{"handler", {"receipt"}}});
  runner.run("handlers restore", {{"handler", {"receipt"}}});
  CHECK(operations_of(inbox, {}) == "handlers restore, handlers retire, handlers change, handlers add");
}

TEST_CASE("the audit is filtered by person, operation and time") {
  Inbox inbox;
  inbox.database().run(
      "insert into inbox.audit (occurred_at, actor, operation, target, detail) values "
      "('2024-01-01', 'ann@a', 'dead replay', '--all', '{\"events\": 3, \"event_ids\": [\"x\"]}'), "
      "('2024-01-02', 'bob@b', 'dead discard', '7', '{}'), ('2024-01-03', 'ann@a', 'partitions seek', 'orders 0', "
      "'{}')");
  CHECK(operations_of(inbox, {{"actor", {"ann*"}}}) == "partitions seek, dead replay");
  CHECK(operations_of(inbox, {{"operation", {"dead *"}}}) == "dead discard, dead replay");
  CHECK(operations_of(inbox, {{"operation", {"dead"}}}) == "");
  CHECK(operations_of(inbox, {{"since", {"2024-01-02T00:00:00Z"}}, {"until", {"2024-01-03T00:00:00Z"}}}) ==
        "dead discard");
  CHECK(operations_of(inbox, {{"limit", {"1"}}}) == "partitions seek");
  const auto answer = OperationRunner{inbox}.run("audit list", {{"operation", {"dead replay"}}});
  CHECK(answer.document.at("changes")[0].at("detail").dump() == "{\"events\":3}");
  CHECK(OperationRunner{inbox}.run("audit list", {{"actor", {"eve"}}}).code == ExitCode::no);
}
