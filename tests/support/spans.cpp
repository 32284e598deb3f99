#include "support/spans.hpp"

#include <algorithm>
#include <iterator>

namespace inboxd::support {

using nlohmann::json;

std::vector<json> spans_of(const Collector& collector) {
  std::vector<json> out;
  for (const auto& request : collector.requests()) {
    const json document = json::parse(request.body);
    for (const json& span : document.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans")) out.push_back(span);
  }
  return out;
}

std::vector<json> named(const std::vector<json>& spans, const std::string& name) {
  std::vector<json> out;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(out),
               [&](const json& span) { return span.at("name") == name; });
  return out;
}

std::string attribute(const json& span, const std::string& key) {
  for (const json& one : span.at("attributes")) {
    if (one.at("key") == key) return one.at("value").begin().value().get<std::string>();
  }
  return "";
}

}  // namespace inboxd::support
