#include "operations/unknown_name.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "config/suggest.hpp"
#include "operations/event_queries.hpp"

namespace inboxd::operations {
namespace {

using Names = std::map<std::string, std::vector<std::string>>;

/// A sentence lists no more names than these.
constexpr std::size_t max_listed = 20;
constexpr std::size_t max_name = 100;
constexpr std::array filters{"handler", "topic", "type", "error", "reason"};

std::string thing_of(const std::string& filter) { return filter == "error" ? "error class" : filter; }

Names names_for_filters(inbox::Connection& connection) {
  Names out = names_in_use(connection);
  out["reason"] = {"no_id", "bad_id", "too_large", "undecodable", "conflict", "poison"};
  return out;
}

bool is_known(const std::string& name, const std::vector<std::string>& known) {
  if (!name.ends_with('*')) return std::find(known.begin(), known.end(), name) != known.end();
  const auto begins = [&](const std::string& one) { return one.starts_with(name.substr(0, name.size() - 1)); };
  return std::any_of(known.begin(), known.end(), begins);
}

UnknownName unknown_among(const Names& names, const Arguments& arguments) {
  for (const char* const filter : filters) {
    const auto given = arguments.given().find(filter);
    if (given == arguments.given().end()) continue;
    const auto known = names.find(filter);
    const auto& candidates = known == names.end() ? std::vector<std::string>{} : known->second;
    for (const std::string& name : given->second) {
      if (!is_known(name, candidates)) return unknown_name(thing_of(filter), name, candidates);
    }
  }
  return {};
}

}  // namespace

UnknownName unknown_name(const std::string& thing, const std::string& name, const std::vector<std::string>& known) {
  UnknownName out{"no " + thing + " " + base::json_quote(base::shorten(name, max_name)),
                  config::closest(name, known).value_or("")};
  if (!out.nearest.empty()) {
    out.sentence += "; did you mean " + base::json_quote(base::shorten(out.nearest, max_name)) + "?";
  } else if (!known.empty() && known.size() <= max_listed) {
    out.sentence += "; known: " + base::joined(known);
  }
  return out;
}

void suggest(const UnknownName& unknown, Document& document) {
  if (!unknown.nearest.empty()) document["did_you_mean"] = unknown.nearest;
}

std::vector<std::string> handler_names(Context& context) { return names_in_use(*context.connection)["handler"]; }

Answer unknown_handler(Context& context, const std::string& verb, const std::string& name) {
  const UnknownName handler = unknown_name("handler", name, handler_names(context));
  Document document;
  suggest(handler, document);
  return {base::ExitCode::no, document, verb + ": " + handler.sentence};
}

Answer nothing_matches(Context& context, const Arguments& arguments, Document document, const std::string& otherwise) {
  const UnknownName unknown = unknown_among(names_for_filters(*context.connection), arguments);
  suggest(unknown, document);
  return {base::ExitCode::no, std::move(document), unknown.sentence.empty() ? otherwise : unknown.sentence};
}

}  // namespace inboxd::operations
