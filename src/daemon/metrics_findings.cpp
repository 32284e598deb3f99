#include <algorithm>

#include "daemon/metrics.hpp"
#include "operations/finding_kinds.hpp"

namespace inboxd::daemon {

void add_finding_metrics(std::vector<MetricRow>& rows) {
  const auto collect = [](const Figures& figures, admin::Exposition& out) {
    if (figures.observed.at_us == 0) return;
    const auto& findings = figures.observed.findings;
    for (const auto& kind : operations::finding_kinds()) {
      const auto is_of_kind = [&](const auto& finding) { return finding.kind == kind.slug; };
      out.add({std::string{kind.slug}, operations::name_of(kind.grade), std::string{kind.alert}},
              std::int64_t{std::count_if(findings.begin(), findings.end(), is_of_kind)});
    }
  };
  rows.push_back({{"inboxd_findings", admin::Metric::Kind::gauge,
                   "Findings of `inboxd status` by kind; alert names the kind's alert, if any.",
                   {"kind", "grade", "alert"}},
                  collect});
}

}  // namespace inboxd::daemon
