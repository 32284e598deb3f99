// The table of findings, and the alerts that share it.
#include "operations/finding_kinds.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

using namespace inboxd::operations;

TEST_CASE("every kind of finding has one row, and its alert exists") {
  std::ifstream file{ALERTS_FILE};
  const std::string alerts{std::istreambuf_iterator<char>{file}, {}};
  REQUIRE_FALSE(alerts.empty());
  std::set<std::string_view> slugs;
  for (const FindingKind& kind : finding_kinds()) {
    CAPTURE(kind.slug, kind.alert);
    CHECK(slugs.insert(kind.slug).second);
    CHECK_FALSE(kind.text.empty());
    // A number before a word in the plural needs the word for one: {events:event|events}.
    for (const char* const counted : {"} events", "} records", "} calls", "} times", "} keys", "} messages"}) {
      CHECK(kind.text.find(counted) == std::string_view::npos);
    }
    if (!kind.alert.empty()) CHECK(alerts.find("- alert: " + std::string{kind.alert} + "\n") != std::string::npos);
  }
}

TEST_CASE("a finding has the grade and the words of its row, with its values") {
  const auto finding = make_finding("handler_paused_itself", {{"handler", "mail"}, {"reason", "fuse"}});
  CHECK(finding.severity == FindingKind::Grade::problem);
  CHECK(finding.kind == "handler_paused_itself");
  CHECK(finding.message == "handler mail has paused itself: fuse");
  CHECK(finding.remedy == "correct the cause, then inboxd handlers resume mail");
  CHECK(make_finding("events_held", {{"handler", "mail"}, {"events", "1"}, {"until", "noon"}}).message ==
        "1 event of handler mail is leased by daemons that have gone, until noon");
  CHECK(make_finding("events_held", {{"handler", "mail"}, {"events", "21"}, {"until", "noon"}}).message ==
        "21 events of handler mail are leased by daemons that have gone, until noon");
  CHECK_THROWS_AS(make_finding("no_such_kind", {}), std::logic_error);
}
