#include "config/tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/text.hpp"

namespace inboxd::config {
namespace {

Place place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// A block scalar's text begins in the line below its `|`. The first non-empty line shows the indentation.
TextPlace block_place(std::string_view raw, Place place, std::string_view text) {
  take_line(raw);
  while (!text.empty()) {
    const std::string_view written = take_line(raw), line = take_line(text);
    if (line.empty()) continue;
    if (!written.ends_with(line)) break;
    return {{place.line + 1, static_cast<int>(written.size() - line.size()) + 1}, true};
  }
  return {place, false};
}

/// The place of a scalar's text; `raw` is the file from the scalar on. Exact for block scalars (|), and for single-line
/// texts without escapes.
TextPlace text_place(std::string_view raw, Place place, std::string_view text) {
  if (raw.starts_with('|')) return block_place(raw, place, text);
  const int quote = raw.starts_with('"') || raw.starts_with('\'') ? 1 : 0;
  raw.remove_prefix(static_cast<std::size_t>(quote));
  const bool is_as_written = text.find('\n') == std::string_view::npos && raw.starts_with(text);
  if (!is_as_written) return {place, false};
  return {{place.line, place.column + quote}, true};
}

/// Thrown through yaml-cpp to end the parse.
struct Refusal {
  Place place;
  std::string key;
  std::string sentence;
};

/// Builds the tree from yaml-cpp's events: its Node type drops duplicate keys, anchors and tags, and recurses into
/// nested nodes.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, Findings& findings) : text_{text}, findings_{findings} {}

  Node take() { return std::move(document_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw Refusal{place_of(mark), "", "a second document begins here; keep one document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_properties(mark, "?", anchor);
    if (expects_key()) throw Refusal{place_of(mark), path(), "no key before the colon; write one"};
    Node node;
    // yaml-cpp gives an absent value the place of the next token.
    node.place = !open_.empty() && open_.back().has_key ? open_.back().key.place : place_of(mark);
    attach(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    if (expects_key()) throw Refusal{place_of(mark), path(), alias_sentence};
    findings_.problem(place_of(mark), path(), alias_sentence);
    Node node;
    node.kind = Node::Kind::refused;
    node.place = place_of(mark);
    attach(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_properties(mark, tag, anchor);
    if (expects_key()) {
      begin_entry(mark, value);
      return;
    }
    Node node;
    node.kind = Node::Kind::scalar;
    node.place = place_of(mark);
    node.quoted = tag == "!";
    node.text = value;
    const auto begin = std::min(static_cast<std::size_t>(mark.pos), text_.size());
    node.text_place = text_place(text_.substr(begin), node.place, value);
    attach(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Node::Kind::list);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Node::Kind::map);
  }
  void OnMapEnd() override { end(); }

  static constexpr const char* alias_sentence =
      "an alias (*name) is not allowed; write the value itself, or quote a text that begins with *";

 private:
  /// An unfinished list or map.
  struct Open {
    Node node;
    bool has_key = false;
    bool is_duplicate = false;
    Entry key{};                         // waits for its value
    std::map<std::string, int> lines{};  // of the keys so far
  };

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == Node::Kind::map && !open_.back().has_key;
  }

  // The messages omit the name: a password that begins with & or ! looks like an anchor or a tag.
  void refuse_properties(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const auto position = static_cast<std::size_t>(mark.pos);
    const char first = position < text_.size() ? text_[position] : ' ';
    if (anchor != YAML::NullAnchor) {
      findings_.problem(place_of(mark), path(),
                        "an anchor (&name) is not allowed; remove it, or quote a text that begins with &");
    }
    if ((tag != "?" && tag != "!") || first == '!') {
      findings_.problem(place_of(mark), path(),
                        "a tag (!name) is not allowed; remove it, or quote a text that begins with !");
    }
  }

  void begin_entry(const YAML::Mark& mark, const std::string& key) {
    Open& map = open_.back();
    map.has_key = true;
    map.key.key = key;
    map.key.place = place_of(mark);
    const auto [first, is_new] = map.lines.emplace(key, map.key.place.line);
    map.is_duplicate = !is_new;
    if (map.is_duplicate) {
      findings_.problem(map.key.place, path(),
                        "duplicate key, first in line " + std::to_string(first->second) + "; remove one");
    }
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    refuse_properties(mark, tag, anchor);
    if (expects_key())
      throw Refusal{place_of(mark), path(), "a key must be a text, not a list or map; check the brackets"};
    if (open_.size() == deepest_nesting) {
      throw Refusal{place_of(mark), "",
                    "nested deeper than " + std::to_string(deepest_nesting) + " levels; no setting needs that"};
    }
    Open open{};
    open.node.kind = kind;
    open.node.place = place_of(mark);
    open_.push_back(std::move(open));
  }

  void end() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    attach(std::move(node));
  }

  void attach(Node node) {
    if (open_.empty()) {
      document_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::list) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    if (!parent.is_duplicate) {
      parent.key.value = std::move(node);
      parent.node.entries.push_back(std::move(parent.key));
    }
    parent.key = {};
    parent.has_key = false;
    parent.is_duplicate = false;
  }

  std::string path() const {
    std::string out;
    for (const Open& open : open_) {
      if (open.node.kind == Node::Kind::list) {
        out += "[" + std::to_string(open.node.items.size()) + "]";
      } else if (open.has_key) {
        out += (out.empty() ? "" : ".") + base::shorten(open.key.key, 80);
      }
    }
    return out;
  }

  std::string_view text_;
  Findings& findings_;
  Node document_;
  std::vector<Open> open_;
  int documents_ = 0;
};

// By line, so that the problem has a place.
bool is_readable_text(std::string_view text, Findings& findings) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    if (!base::is_database_text(text.substr(0, length))) {
      findings.problem({line, 1}, "", "the line is not UTF-8 text; save the file as UTF-8");
      return false;
    }
    text.remove_prefix(std::min(length + 1, text.size()));
    ++line;
  }
  return true;
}

/// The place of a tab that indents the line. yaml-cpp's own message does not mention tabs.
std::optional<Place> tab_that_indents(std::string_view text, int line) {
  for (int number = 1; number < line && !text.empty(); ++number) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const std::size_t tab = text.find_first_not_of(" -");
  if (tab == std::string_view::npos || text[tab] != '\t') return std::nullopt;
  return Place{line, static_cast<int>(tab) + 1};
}

std::string yaml_sentence(const std::string& message, bool has_variables) {
  // yaml-cpp's message repeats the text that begins with *, perhaps a password.
  if (message.starts_with("the referenced anchor")) return TreeBuilder::alias_sentence;
  const std::string sentence = "not valid YAML (" + message + "); check indentation, quotes and brackets";
  if (has_variables) return sentence + ", and quote each ${NAME} inside { } or [ ]";
  return message.find("map flow") != std::string::npos ? sentence + ", and quote a text with braces" : sentence;
}

}  // namespace

std::optional<Node> parse_tree(std::string_view text, Findings& findings) {
  if (text.size() > largest_file) {
    findings.problem({}, "", "the file is larger than 1 MiB; no configuration needs that");
    return std::nullopt;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!is_readable_text(text, findings)) return std::nullopt;
  std::istringstream stream{std::string{text}};
  TreeBuilder builder{text, findings};
  try {
    YAML::Parser parser{stream};
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Refusal& refusal) {
    findings.problem(refusal.place, refusal.key, refusal.sentence);
  } catch (const YAML::Exception& error) {
    if (const auto tab = tab_that_indents(text, place_of(error.mark).line)) {
      findings.problem(*tab, "", "a tab indents this line; replace it with spaces");
    } else {
      findings.problem(place_of(error.mark), "", yaml_sentence(error.msg, text.find("${") != std::string_view::npos));
    }
  }
  return std::nullopt;
}

}  // namespace inboxd::config
