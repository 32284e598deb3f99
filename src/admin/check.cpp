#include "admin/check.hpp"

#include <algorithm>

namespace inboxd::admin {

const char* name_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::good:
      return "ok";
    case Finding::Kind::warning:
      return "warning";
    case Finding::Kind::problem:
      return "problem";
    case Finding::Kind::unreachable:
      return "unreachable";
  }
  return "problem";
}

Document document_of(const FoundList& findings) {
  Document list = Document::array();
  for (const Finding& finding : findings) {
    list.push_back({{"result", name_of(finding.kind)}, {"subject", finding.subject}, {"message", finding.message}});
  }
  return {{"ok", verdict_on(findings) == base::ExitCode::done}, {"findings", std::move(list)}};
}

base::ExitCode verdict_on(const FoundList& findings) {
  auto worst = Finding::Kind::good;
  for (const Finding& finding : findings) worst = std::max(worst, finding.kind);
  if (worst < Finding::Kind::problem) return base::ExitCode::done;
  return worst == Finding::Kind::unreachable ? base::ExitCode::unavailable : base::ExitCode::no;
}

}  // namespace inboxd::admin
