// JUnit XML, as CI servers read it.
#include <cstdio>

#include "base/text.hpp"
#include "testing/run_tests.hpp"

namespace inboxd::testing {
namespace {

/// Control characters have no place in XML 1.0: they are shown as escapes.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : base::escape_controls(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out.push_back(c);
    }
  }
  return out;
}

std::string seconds(std::chrono::milliseconds duration) {
  char out[32];
  std::snprintf(out, sizeof out, "%.3f", std::chrono::duration<double>(duration).count());
  return out;
}

}  // namespace

std::string junit_of(const std::string& file, const std::vector<CaseResult>& results) {
  std::size_t failed = 0;
  std::chrono::milliseconds total{0};
  std::string cases;
  const std::string name = escaped(file);
  for (const CaseResult& result : results) {
    total += result.duration;
    cases += "  <testcase classname=\"" + name + "\" name=\"" + escaped(result.name) + "\" time=\"" +
             seconds(result.duration) + "\"";
    if (result.differences.empty()) {
      cases += "/>\n";
      continue;
    }
    ++failed;
    cases += ">\n    <failure message=\"" + escaped(result.differences.front()) + "\">";
    for (const std::string& each : result.differences) cases += escaped(each) + "\n";
    cases += "</failure>\n  </testcase>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" + name + "\" tests=\"" +
         std::to_string(results.size()) + "\" failures=\"" + std::to_string(failed) + "\" time=\"" + seconds(total) +
         "\">\n" + cases + "</testsuite>\n";
}

}  // namespace inboxd::testing
