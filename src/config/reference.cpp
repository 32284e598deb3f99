#include "config/reference.hpp"

#include <functional>
#include <sstream>

#include "base/text.hpp"
#include "config/settings_table.hpp"
#include "config/show.hpp"

namespace inboxd::config {
namespace {

constexpr const char* introduction = R"(# Configuration of inboxd

`inboxd config reference` prints this page from the table that the daemon itself reads. In this folder:

- `inboxd.minimal.yaml`: the required keys; start from a copy of it.
- `inboxd.yaml`: every key, commented out, with its default and a sentence.
- [order.md](order.md): order per key, and its conditions.
- [formats.md](formats.md): topics in Avro or Protobuf, and schema registries.
- [security.md](security.md): TLS, logins and rotation of each connection; Confluent Cloud, MSK, Aiven, Strimzi, RDS.
- [page.md](page.md): the page for operators: the way in, changes, proxies.
- [testing.md](testing.md): `inboxd test`, which runs sample records through a configuration in CI.
- [coming-from-jdbc-sink.md](coming-from-jdbc-sink.md), [coming-from-inbox-table.md](coming-from-inbox-table.md):
  cut-over from Kafka Connect's JDBC sink connector, and from an inbox table of your own.

`inboxd check` reads a file and everything it refers to; `inboxd check --offline` reads the file alone, and checks the
names of shipped handlers and their settings. Both report all problems at once, as `file:line:column: key: the mistake
and the remedy`. `inboxd config show` prints every key with its value in force and its origin. `inboxd config schema`
prints a JSON Schema for editors.

## Syntax

- A single YAML document of at most 1 MiB. Unknown keys, duplicate keys, anchors, aliases and tags are refused.
- Durations are `250ms`, `30s`, `5m`, `12h`, `7d`, for some keys `forever`. Sizes are `512B`, `64KiB`, `8MiB`, `2GiB`.
  Times are RFC 3339 with an offset: `2024-01-31T12:00:00Z`.
- `${NAME}` in a value is an environment variable, `${NAME:-text}` has a default for an unset or empty variable, `$$`
  is a dollar sign. Variables are replaced once, after the YAML is parsed, so a variable cannot hold keys. Inside
  `{…}` and `[…]`, quote a text with braces: `{group: "${NAME}"}`.
- A secret is `{file: /path}`, `{credential: name}` (a file in systemd's `$CREDENTIALS_DIRECTORY`) or `{env: NAME}`. A
  relative path in `{file: …}` begins at the folder of the configuration. All other paths, such as those of
  certificates and plugins, begin at the working directory. A secret in the file itself works, with a warning. Any
  other text may be written in these forms, too, as in headers and environments of handlers. Such texts, and texts with
  the name of a secret, are never logged.
- `config show`, the admin port and `doctor --bundle` show `********` in place of each text that may hold a secret:
  values of headers and environments, arguments of programs, users, paths and queries of URLs, statements, unknown
  properties and settings. Names, topics, hosts, ports, paths of files, numbers and choices are shown.
- The files of passwords and tokens are read again for each session and request. If a file that a handler uses changes,
  the handler is prepared again within seconds. Certificates of Kafka clients, and other changed properties, are used
  once a connection has failed: the client is then made again.
- SIGHUP reads the file again. If anything in it is wrong, nothing changes. Keys marked `restart` change only at a
  restart.
)";

std::string entry(const Description& about, const std::string& path, const std::string& default_text) {
  std::string facts;
  const auto add = [&](const std::string& fact) { facts += (facts.empty() || fact.empty() ? "" : "; ") + fact; };
  if (about.is_required) add("required");
  if (!default_text.empty()) add("default `" + default_text + "`");
  add(range_of(about));
  if (about.needs_restart) add("restart");
  std::string text = "`" + path + about.key + "`" + (facts.empty() ? "" : " (" + facts + ")") + ": " + about.help;
  if (!about.example.empty()) text += " Example: `" + about.example + "`";
  return base::wrapped("- ", "  ", text);
}

template <class Owner>
std::string entries(const std::vector<Row<Owner>>& rows, const std::string& path, const std::string& prefix) {
  const Owner defaults{};
  std::string out;
  for (const Row<Owner>& row : rows) {
    if (row.about.key.starts_with(prefix)) out += entry(row.about, path, written(row.about, row.get(defaults)));
  }
  return out;
}

std::string common_entries(const Table& table) {
  std::string text = "These keys of `handlers[]`:";
  for (const Row<Handler>& row : table.handler_defaults()) text += " `" + row.about.key + "`,";
  text.back() = '.';
  return base::wrapped("", "", text);
}

std::string group_entries(const Table& table, const Group& group) {
  if (group.name == "topics") return entries(table.topics, "topics[].", "");
  if (group.name == "handlers") return entries(table.handlers, "handlers[].", "");
  if (group.name == "handler_defaults") return common_entries(table);
  return entries(table.settings, "", group.name + ".");
}

constexpr const char* heading =
    R"(## The configuration of inboxd: every key, commented out, with its default, or an example if it has none.
## To change a line, remove the first # of the line and of the lines above it that it belongs to.
## inboxd.minimal.yaml has the required keys; README.md describes the syntax and secrets.
## This file is generated: copy it, do not edit it.
)";
constexpr const char* minimal_heading =
    R"(# The required keys; all others have a default. inboxd.yaml has every key, README.md describes them.
)";

/// A key of a block of keys.
struct Line {
  std::string key;  ///< within the block: `retry.base`
  std::string value;
  std::string sentence;  ///< the comment above it; empty: none
};
using Lines = std::vector<Line>;

/// Help and facts.
std::string comment_of(const Description& about, const std::string& default_text) {
  std::string facts;
  const auto add = [&](const std::string& fact) { facts += (facts.empty() || fact.empty() ? "" : "; ") + fact; };
  if (about.is_required) add("required");
  if (!about.is_required && default_text.empty()) add("no default");
  if (!about.example.empty() && !default_text.empty()) add("default " + default_text);
  add(range_of(about));
  if (about.needs_restart) add("restart");
  return facts.empty() ? about.help : about.help.substr(0, about.help.size() - 1) + " (" + facts + ").";
}

/// Writes keys and nested groups; every line begins with `mark`.
class BlockWriter final {
 public:
  explicit BlockWriter(std::string mark) : mark_{std::move(mark)} {}

  void comment(const std::string& sentence) { out_ += "\n" + base::wrapped(mark_ + "# ", mark_ + "# ", sentence); }
  void heading(const std::string& name) { out_ += mark_ + name + ":\n"; }
  void keys(const Lines& lines) { block(lines, "  ", ""); }
  void item(const Lines& lines) { block(lines, "    ", "- "); }

  const std::string& text() const { return out_; }

 private:
  /// The bullet takes the last two columns of the first line's indentation.
  void block(const Lines& lines, const std::string& indent, std::string bullet) {
    std::vector<std::string> open;
    for (const Line& line : lines) {
      std::vector<std::string> parts = split(line.key);
      const std::string name = std::move(parts.back());
      parts.pop_back();
      std::string before = mark_ + indent;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i >= open.size() || open[i] != parts[i]) out_ += before + parts[i] + ":\n";
        before += "  ";
      }
      open = std::move(parts);
      before.resize(before.size() - bullet.size());
      if (!line.sentence.empty()) out_ += base::wrapped(before + "# ", before + "# ", line.sentence);
      out_ += before + bullet + name + ": " + line.value + "\n";
      bullet.clear();
    }
  }

  static std::vector<std::string> split(const std::string& key) {
    std::vector<std::string> parts;
    std::istringstream stream{key};
    for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
    return parts;
  }

  std::string mark_;
  std::string out_;
};

/// The wanted rows with a key that begins with `prefix`, each with its example or default.
template <class Owner, class Wanted>
Lines lines_of(const std::vector<Row<Owner>>& rows, const std::string& prefix, Wanted is_wanted) {
  const Owner defaults{};
  Lines out;
  for (const Row<Owner>& row : rows) {
    const Description& about = row.about;
    if (!about.key.starts_with(prefix) || !is_wanted(about)) continue;
    const std::string default_text = written(about, row.get(defaults));
    out.push_back({about.key.substr(prefix.size()), about.example.empty() ? default_text : about.example,
                   comment_of(about, default_text)});
  }
  return out;
}

Lines without_sentences(Lines lines) {
  for (Line& line : lines) line.sentence.clear();
  return lines;
}

bool always(const Description&) { return true; }
bool is_minimal(const Description& about) { return about.is_in_minimal; }
bool is_of_pattern(const Description& about) { return about.key == "pattern" || about.key.starts_with("custom."); }
bool is_of_format(const Description& about) {
  return about.key.starts_with("value.") || about.key.starts_with("key.");
}

bool is_of_http(const Description& about) { return about.key.starts_with("http."); }

/// The keys of `value` and `key` that a topic with this format may have together. The sentences stand once.
Lines lines_of_format(const std::vector<Row<Topic>>& rows, const std::string& name, const std::string& format,
                      const std::function<bool(std::string_view)>& is_wanted) {
  Lines out = lines_of(rows, "", [&](const Description& about) {
    return is_of_format(about) && is_wanted(std::string_view{about.key}.substr(about.key.find('.') + 1));
  });
  for (Line& line : out) {
    if (line.key.ends_with(".format")) line.value = format;
    if (line.key.starts_with("key.")) line.sentence.clear();
  }
  out.insert(out.begin(), Line{"name", name, ""});
  return out;
}

/// Some keys exclude each other, such as a name and a pattern; others need a choice, such as `envelope: custom`. So
/// several topics show all keys.
void write_topics(BlockWriter& writer, const std::vector<Row<Topic>>& rows) {
  writer.item(lines_of(rows, "", [](const Description& about) {
    return !is_of_pattern(about) && !is_of_format(about) && !is_of_http(about);
  }));
  Lines second = lines_of(rows, "", is_of_pattern);
  second.insert(second.begin() + 1, Line{"envelope", "custom", ""});
  writer.item(second);
  const auto is_of_file = [](std::string_view key) { return key == "schema_file" || key == "message"; };
  writer.item(lines_of_format(rows, "payments", "avro",
                              [&](std::string_view key) { return !is_of_file(key) && key != "registry.token"; }));
  writer.item(lines_of_format(rows, "refunds", "avro", [](std::string_view key) {
    return key == "format" || key == "registry.url" || key == "registry.token";
  }));
  writer.item(lines_of_format(rows, "parcels", "protobuf",
                              [&](std::string_view key) { return key == "format" || is_of_file(key); }));
  Lines hooks{{"name", "hooks", ""}, {"source", "local", ""}};
  for (Line& line : lines_of(rows, "", is_of_http)) hooks.push_back(std::move(line));
  writer.item(hooks);
}

}  // namespace

std::string reference() {
  const Table table = settings_table();
  std::string out = introduction;
  for (const Group& group : table.groups) {
    out += "\n## " + group.name + "\n\n" + group.help + "\n\n" + group_entries(table, group);
  }
  return out;
}

std::string commented_yaml() {
  const Table table = settings_table();
  BlockWriter writer{"#"};
  for (const Group& group : table.groups) {
    writer.comment(group.help);
    writer.heading(group.name);
    if (group.name == "topics") {
      write_topics(writer, table.topics);
    } else if (group.name == "handlers") {
      writer.item(lines_of(table.handlers, "", always));
    } else if (group.name == "handler_defaults") {
      writer.keys(without_sentences(lines_of(table.handler_defaults(), "", always)));
    } else {
      writer.keys(lines_of(table.settings, group.name + ".", always));
    }
  }
  return heading + writer.text();
}

std::string minimal_yaml() {
  const Table table = settings_table();
  BlockWriter writer{""};
  for (const Group& group : table.groups) {
    const Lines own = without_sentences(lines_of(table.settings, group.name + ".", is_minimal));
    const bool is_list = group.name == "topics" || group.name == "handlers";
    if (own.empty() && !is_list) continue;
    writer.heading(group.name);
    writer.keys(own);
    if (group.name == "topics") writer.item(without_sentences(lines_of(table.topics, "", is_minimal)));
    if (group.name == "handlers") writer.item(without_sentences(lines_of(table.handlers, "", is_minimal)));
  }
  return minimal_heading + writer.text();
}

}  // namespace inboxd::config
