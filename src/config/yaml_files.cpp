#include <sstream>

#include "config/reference.hpp"
#include "config/table.hpp"
#include "config/wrap.hpp"
#include "config/written.hpp"

namespace inboxd::config {
namespace {

constexpr const char* heading =
    R"(## The configuration of inboxd: every key, commented out, with its default or, where it has none, an example.
## Remove the first # of the lines that you want to change, and of the lines that they stand below.
## inboxd.minimal.yaml has what is needed at least; README.md tells how values are written, and of secrets.
## This file is made from the table in the program: copy it, do not edit it.
)";
constexpr const char* minimal_heading =
    R"(# The least that inboxd needs; everything else has a default. inboxd.yaml has every key, README.md explains them.
)";

/// One key of a block of keys.
struct Line {
  std::string key;  ///< within the block: `retry.base`
  std::string value;
  std::string sentence;  ///< the comment over it; empty: none
};
using Lines = std::vector<Line>;

/// Help and facts; `standard` is the default as written.
std::string sentence_over(const Description& about, const std::string& standard) {
  std::string facts;
  const auto add = [&](const std::string& fact) { facts += (facts.empty() || fact.empty() ? "" : "; ") + fact; };
  if (about.is_required) add("needed");
  if (!about.is_required && standard.empty()) add("no default");
  if (!about.example.empty() && !standard.empty()) add("default " + standard);
  add(range_of(about));
  if (about.needs_restart) add("restart");
  return facts.empty() ? about.help : about.help.substr(0, about.help.size() - 1) + " (" + facts + ").";
}

/// Writes keys below each other, groups within groups; every line begins with `mark`.
class BlockWriter final {
 public:
  explicit BlockWriter(std::string mark) : mark_{std::move(mark)} {}

  void comment(const std::string& sentence) { out_ += "\n" + wrapped(mark_ + "# ", mark_ + "# ", sentence); }
  void heading(const std::string& name) { out_ += mark_ + name + ":\n"; }
  void keys(const Lines& lines) { block(lines, "  ", ""); }
  void item(const Lines& lines) { block(lines, "    ", "- "); }

  const std::string& text() const { return out_; }

 private:
  /// The first line's last two columns of indentation are the bullet of a list's item.
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
      if (!line.sentence.empty()) out_ += wrapped(before + "# ", before + "# ", line.sentence);
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

/// The wanted ones of the rows whose key begins with `prefix`, each with its default, or an example where that says
/// nothing.
template <class Owner, class Wanted>
Lines lines_of(const std::vector<Row<Owner>>& rows, const std::string& prefix, Wanted is_wanted) {
  const Owner defaults{};
  Lines out;
  for (const Row<Owner>& row : rows) {
    const Description& about = row.about;
    if (!about.key.starts_with(prefix) || !is_wanted(about)) continue;
    const std::string standard = written(about, row.get(defaults));
    out.push_back({about.key.substr(prefix.size()), about.example.empty() ? standard : about.example,
                   sentence_over(about, standard)});
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

/// A topic has a name or a pattern, and rules with one envelope only: it takes two topics to show all keys.
void write_topics(BlockWriter& writer, const std::vector<Row<Topic>>& rows) {
  writer.item(lines_of(rows, "", [](const Description& about) { return !is_of_pattern(about); }));
  Lines second = lines_of(rows, "", is_of_pattern);
  second.insert(second.begin() + 1, Line{"envelope", "custom", ""});
  writer.item(second);
}

}  // namespace

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
