// A set of offsets against std::set, and its text.
#include "event/offset_set.hpp"

#include <set>

#include "fuzz/target.hpp"

using namespace inboxd;

namespace {

void check(const event::OffsetSet& set, const std::set<std::int64_t>& model) {
  fuzz::require(set.count() == static_cast<std::int64_t>(model.size()), "it counts its offsets");
  for (std::int64_t offset = -1; offset <= 80; ++offset) {
    fuzz::require(set.contains(offset) == model.contains(offset), "it has the offsets that were added");
  }
  const event::OffsetRange* before = nullptr;
  for (const auto& range : set.ranges()) {
    fuzz::require(range.first < range.end && (before == nullptr || before->end < range.first), "ranges are apart");
    before = &range;
  }
  fuzz::require(event::OffsetSet::parse(set.text()) == set, "its text reads as the set");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto read = event::OffsetSet::parse({reinterpret_cast<const char*>(data), size})) {
    fuzz::require(event::OffsetSet::parse(read->text()) == read, "a text that was read is written the same");
  }
  fuzz::Input input{data, size};
  event::OffsetSet set;
  std::set<std::int64_t> model;
  for (int step = 0; step < 64 && !input.empty(); ++step) {
    const bool adds = input.below(3) != 0;
    const auto first = static_cast<std::int64_t>(input.below(64)),
               end = first + 1 + static_cast<std::int64_t>(input.below(16));
    if (adds) {
      set.add({first, end});
    } else {
      set.remove(event::OffsetSet{{first, end}});
    }
    for (auto offset = first; offset < end; ++offset) {
      if (adds) {
        model.insert(offset);
      } else {
        model.erase(offset);
      }
    }
  }
  check(set, model);
  return 0;
}
