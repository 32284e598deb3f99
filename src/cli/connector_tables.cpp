#include "cli/connector_tables.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <utility>

#include "base/text.hpp"
#include "cli/upsert_statement.hpp"
#include "config/topics.hpp"

namespace inboxd::cli {
namespace {

/// A transform that renames topics.
struct Router {
  std::regex expression;
  std::string replacement;
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The first part of a Java expression that POSIX extended expressions lack, or the mistake in it; or empty.
std::string java_only(const std::string& expression) {
  for (const char* const part : {"\\d", "\\D", "\\s", "\\S", "\\p", "\\Q", "(?", "*?", "+?", "*+", "++"}) {
    if (expression.find(part) != std::string::npos) return part;
  }
  return config::Expression{expression}.problem().value_or("");
}

/// How a connector names tables.
struct Naming {
  std::vector<Router> routers;
  std::string format;
  std::map<std::string, std::string> mapped;  ///< by topic, in place of the format
  bool is_debezium = false;
  bool normalizes = false;
  bool folds_names = false;
};

/// `schema.table`, of which the last two parts count: a third is the database.
std::string quoted_table(const std::string& name, bool folds_names) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const auto dot = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, dot - at);
    parts.push_back(folds_names ? base::lower(part) : part);
    at = dot + 1;
  }
  const std::string table = quoted_name(parts.back());
  return parts.size() == 1 ? table : quoted_name(parts[parts.size() - 2]) + "." + table;
}

std::string table_of(std::string topic, const Naming& naming) {
  const auto mapped = naming.mapped.find(topic);
  if (mapped != naming.mapped.end()) return quoted_table(mapped->second, naming.folds_names);
  for (const auto& router : naming.routers) {
    if (!std::regex_match(topic, router.expression)) continue;
    topic = std::regex_replace(topic, router.expression, router.replacement, std::regex_constants::format_first_only);
  }
  if (naming.is_debezium) topic = replaced(topic, ".", "_");
  if (naming.normalizes) {
    std::replace_if(
        topic.begin(), topic.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; }, '_');
  }
  return quoted_table(replaced(naming.format, "${topic}", topic), naming.folds_names);
}

base::Result<Router> read_router(Connector& connector, const std::string& prefix) {
  const auto either = [&](const char* one, const char* other) {
    return connector.take(prefix + one, prefix + other).value_or("");
  };
  const std::string expression = either("regex", "topic.regex");
  try {
    return Router{std::regex{expression}, either("replacement", "topic.replacement")};
  } catch (const std::regex_error&) {
    return base::Problem{prefix + "regex cannot be read as an ECMAScript expression: remove the transform, and set "
                         "table.name.format to the table's name"};
  }
}

base::Result<Naming> read_naming(Connector& connector, const std::vector<std::string>& routers) {
  Naming out;
  out.is_debezium = connector.is_debezium();
  const std::string quotes = base::lower(connector.take("quote.sql.identifiers", "quote.identifiers").value_or(""));
  out.folds_names = quotes == "never" || (out.is_debezium && quotes != "true");
  out.normalizes = connector.take_flag("table.name.normalize");
  const std::string usual = connector.take("table.name.format").value_or("${topic}");
  out.format = connector.take("collection.name.format").value_or(usual);
  for (const auto& pair : items_of(connector.take("topics.to.tables.mapping").value_or(""))) {
    const auto colon = pair.find(':');
    if (colon != std::string::npos) out.mapped[pair.substr(0, colon)] = pair.substr(colon + 1);
  }
  for (const auto& prefix : routers) {
    auto router = read_router(connector, prefix);
    if (!router) return router.problem();
    out.routers.push_back(std::move(router).value());
  }
  return out;
}

base::Result<ConnectorTables> read_pattern(const std::string& expression, const Naming& naming) {
  if (naming.format.find("${topic}") != std::string::npos) {
    return base::Problem{"topics.regex with a table for each topic: a statement has one table. Write the topics' names "
                         "into `topics`, or a single table into table.name.format"};
  }
  if (const std::string part = java_only(expression); !part.empty()) {
    return base::Problem{"topics.regex: " + part + " is not part of POSIX extended expressions; rewrite it, such as "
                         "[0-9] in place of \\d, or write the topics' names into `topics`"};
  }
  return ConnectorTables{{}, "^(" + expression + ")$", {{quoted_table(naming.format, naming.folds_names), {}}},
                         naming.folds_names};
}

}  // namespace

base::Result<ConnectorTables> read_tables(Connector& connector, const std::vector<std::string>& routers) {
  const auto naming = read_naming(connector, routers);
  if (!naming) return naming.problem();
  const auto topics = items_of(connector.take("topics").value_or(""));
  if (const auto expression = connector.take("topics.regex")) return read_pattern(*expression, naming.value());
  if (topics.empty()) return base::Problem{"there is neither topics nor topics.regex: the connector reads nothing"};
  ConnectorTables out{topics, "", {}, naming.value().folds_names};
  for (const auto& topic : topics) {
    const std::string table = table_of(topic, naming.value());
    const auto same = std::find_if(out.targets.begin(), out.targets.end(),
                                   [&](const ConnectorTables::Target& target) { return target.table == table; });
    if (same == out.targets.end()) out.targets.push_back({table, {topic}});
    else same->topics.push_back(topic);
  }
  return out;
}

}  // namespace inboxd::cli
