#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::event {

/// A half-open range of offsets [first, end).
struct OffsetRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool operator==(const OffsetRange&) const = default;
};

/// A set of offsets as sorted, disjoint, non-adjacent ranges: PostgreSQL's int8multirange.
class OffsetSet {
 public:
  OffsetSet() = default;
  explicit OffsetSet(OffsetRange range) { add(range); }

  /// Adds a range; cheapest when it lies at or after the end.
  void add(OffsetRange range);
  void add(std::int64_t offset) { add(OffsetRange{offset, offset + 1}); }
  void remove(const OffsetSet& other);

  bool contains(std::int64_t offset) const;
  bool empty() const { return ranges_.empty(); }
  /// The number of offsets.
  std::int64_t count() const;
  const std::vector<OffsetRange>& ranges() const { return ranges_; }

  /// PostgreSQL's text: `{[1,5),[7,9)}`.
  std::string text() const;
  /// Reads that text; nothing if it has another form.
  static std::optional<OffsetSet> parse(std::string_view text);

  bool operator==(const OffsetSet&) const = default;

 private:
  std::vector<OffsetRange> ranges_;
};

}  // namespace inboxd::event
