#include "config/reference.hpp"

#include "config/table.hpp"
#include "config/wrap.hpp"
#include "config/written.hpp"

namespace inboxd::config {
namespace {

constexpr const char* introduction = R"(# Configuration of inboxd

This page is what `inboxd config reference` prints, made from the table that the daemon itself reads. In this folder:

- `inboxd.minimal.yaml`: what no configuration can do without; begin with a copy of it.
- `inboxd.yaml`: every key, commented out, with its default and a sentence.

`inboxd check` reads a file and what it points to, `inboxd check --offline` the file alone; both say all that is wrong
at once, as `file:line:column: key: what is wrong and what would be right`. `inboxd config show` prints every key with
the value in force and where it came from, `inboxd config schema` a JSON Schema for editors.

## How a file is written

- One YAML document of at most 1 MiB. Unknown keys, keys given twice, anchors, aliases and tags are refused.
- Durations are `250ms`, `30s`, `5m`, `12h`, `7d`, where it says so `forever`; sizes `512B`, `64KiB`, `8MiB`, `2GiB`;
  times RFC 3339 with their offset: `2024-01-31T12:00:00Z`.
- `${NAME}` in a value stands for an environment variable, `${NAME:-text}` gives a default for one that is not set or
  empty, `$$` is a dollar sign. They are replaced after the YAML is read, and only once: a variable can hold no keys.
  Inside `{…}` and `[…]` a text with braces needs quotes: `{group: "${NAME}"}`.
- A secret is `{file: /path}`, `{credential: name}` (a file in systemd's `$CREDENTIALS_DIRECTORY`) or `{env: NAME}`.
  One that stands in the file itself works, with a warning. Secrets are shown as `********` and never logged.
- SIGHUP reads the file again: all of it or, where anything is wrong, none of it. `restart` marks the keys that only
  a restart can change.
)";

std::string entry(const Description& about, const std::string& path, const std::string& standard) {
  std::string facts;
  const auto add = [&](const std::string& fact) { facts += (facts.empty() || fact.empty() ? "" : "; ") + fact; };
  if (about.is_required) add("needed");
  if (!standard.empty()) add("default `" + standard + "`");
  add(range_of(about));
  if (about.needs_restart) add("restart");
  std::string text = "`" + path + about.key + "`" + (facts.empty() ? "" : " (" + facts + ")") + ": " + about.help;
  if (!about.example.empty()) text += " Example: `" + about.example + "`";
  return wrapped("- ", "  ", text);
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
  std::string text = "The keys of `handlers[]` that may stand here:";
  for (const Row<Handler>& row : table.handler_defaults()) text += " `" + row.about.key + "`,";
  text.back() = '.';
  return wrapped("", "", text);
}

std::string group_entries(const Table& table, const Group& group) {
  if (group.name == "topics") return entries(table.topics, "topics[].", "");
  if (group.name == "handlers") return entries(table.handlers, "handlers[].", "");
  if (group.name == "handler_defaults") return common_entries(table);
  return entries(table.settings, "", group.name + ".");
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

}  // namespace inboxd::config
