#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "operations/ledger_queries.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::size_t enough = std::size_t{1} << 40;

/// 40 days of 10 GB, in 20 generations with their filters; ids in the order of time.
operations::LedgerState large() {
  operations::LedgerState out;
  out.generations = 20;
  out.filters = 19;
  out.bytes = 10'000'000'000;
  out.seconds = 40 * 86'400;
  out.random_share = 0;
  out.checkpoint_bytes = 500'000'000;
  return out;
}

}  // namespace

TEST_CASE("the ledger's advice names a shorter retention only where resends were seen, and all came early") {
  config::Retention retention;
  auto ledger = large();
  CHECK(operations::ledger_advice(ledger, retention, enough).empty());
  ledger.resends = 12'000;
  ledger.resend_seconds = 4'096;
  const auto advice = operations::ledger_advice(ledger, retention, enough);
  REQUIRE(advice.size() == 1);
  CHECK_THAT(advice[0], ContainsSubstring("99.9 % of 12000 resends came within"));
  CHECK_THAT(advice[0], ContainsSubstring("retention.ledger: 6h would need 0.06 GB instead of 10.0 GB"));
  CHECK_THAT(advice[0], ContainsSubstring("no shorter than retention.events and the topics' retention.ms"));
  retention.ledger = std::chrono::hours{6};
  CHECK(operations::ledger_advice(ledger, retention, enough).empty());
  retention.ledger.reset();
  ledger.resend_seconds = 4'194'304;  // no proposal is long enough
  CHECK(operations::ledger_advice(ledger, retention, enough).empty());
  ledger.bytes = 1'000'000;  // small
  ledger.resend_seconds = 1;
  CHECK(operations::ledger_advice(ledger, retention, enough).empty());
}

TEST_CASE("a ledger younger than a week, or one that would save less than half, gets no advice on its retention") {
  auto ledger = large();
  ledger.resends = 12'000;
  ledger.resend_seconds = 4'096;
  ledger.seconds = 7 * 86'400;
  CHECK(operations::ledger_advice(ledger, {}, enough).size() == 1);
  ledger.seconds -= 1;  // late resends may still come
  CHECK(operations::ledger_advice(ledger, {}, enough).empty());
  ledger.resend_seconds = 30 * 3'600;  // seven days are proposed
  ledger.seconds = 14 * 86'400;
  CHECK(operations::ledger_advice(ledger, {}, enough).size() == 1);
  ledger.seconds -= 1;
  CHECK(operations::ledger_advice(ledger, {}, enough).empty());
}

TEST_CASE("the ledger's advice names checkpoints where random ids write whole pages, and missing filters") {
  auto ledger = large();
  ledger.random_share = 0.98;
  ledger.full_page_share = 0.6;
  ledger.filters = 17;
  const auto advice = operations::ledger_advice(ledger, {}, enough);
  REQUIRE(advice.size() == 2);
  CHECK_THAT(advice[0], ContainsSubstring("98 % of the ids are random, and 60 % of the server's WAL is whole pages"));
  CHECK_THAT(advice[1], ContainsSubstring("2 frozen generations have no stored filter yet"));
}

TEST_CASE("the ledger's advice names the memory that its filters need, where less is allowed") {
  auto ledger = large();
  ledger.most_frozen_ids = 1'000'000'000;
  CHECK(operations::ledger_advice(ledger, {}, enough).empty());
  const auto advice = operations::ledger_advice(ledger, {}, std::size_t{512} << 20);
  REQUIRE(advice.size() == 1);
  CHECK_THAT(advice[0], ContainsSubstring("filters of frozen generations need 2.") &&
                            ContainsSubstring("ledger.filter_bytes allows 0.54 GB"));
}
