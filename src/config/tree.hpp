#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/finding.hpp"

namespace inboxd::config {

struct Entry;

/// A YAML document as written: keys in order, each node with its place, nothing interpreted.
struct Node {
  /// `refused`: already reported (an alias), so not reported again.
  enum class Kind { nothing, scalar, list, map, refused };
  Kind kind = Kind::nothing;
  Place place;
  bool quoted = false;         ///< a quoted or block scalar
  std::string text;            ///< a scalar's
  TextPlace text_place;        ///< the place of `text`
  std::vector<Node> items;     ///< a list's
  std::vector<Entry> entries;  ///< a map's
};

struct Entry {
  std::string key;
  Place place;  ///< of the key
  Node value;
};

/// The largest file, and the deepest nesting of lists and maps in it.
inline constexpr std::size_t largest_file = 1 << 20;
inline constexpr std::size_t deepest_nesting = 32;

/// Reads a single YAML document. Refused, as problems in `findings`: bytes that are not UTF-8, a file over
/// `largest_file`, nesting beyond `deepest_nesting`, duplicate keys, keys that are not text, anchors, aliases, tags, a
/// second document. nullopt if the text could not be read to its end.
std::optional<Node> parse_tree(std::string_view text, Findings& findings);

}  // namespace inboxd::config
