#include "config/finding.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace inboxd::config {
namespace {

std::vector<Finding> in_order(std::vector<Finding> findings) {
  std::ranges::stable_sort(findings, {}, &Finding::place);
  return findings;
}

void add(std::vector<Finding>& findings, Finding finding) {
  if (std::ranges::find(findings, finding) == findings.end()) findings.push_back(std::move(finding));
}

}  // namespace

Place TextPlace::at(int line, int column) const {
  return is_exact ? Place{begin.line + line - 1, begin.column + column - 1} : begin;
}

std::string Finding::text() const {
  std::string out = file;
  if (place.line > 0) out += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  out += ": ";
  if (!key.empty()) out += key + ": ";
  return base::escape_controls(out + sentence);
}

void Findings::problem(Place place, std::string key, std::string sentence) {
  if (problems_.size() == limit) {
    ++left_out_;
    return;
  }
  add(problems_, {file_, place, base::shorten(key, 200), std::move(sentence)});
}

void Findings::warning(Place place, std::string key, std::string sentence) {
  if (warnings_.size() < limit) add(warnings_, {file_, place, base::shorten(key, 200), std::move(sentence)});
}

std::vector<Finding> Findings::problems() const {
  std::vector<Finding> out = in_order(problems_);
  if (left_out_ > 0) out.push_back({file_, {}, "", "and " + std::to_string(left_out_) + " more"});
  return out;
}

std::vector<Finding> Findings::warnings() const { return in_order(warnings_); }

}  // namespace inboxd::config
