#include "config/suggest.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "config/topics.hpp"

namespace inboxd::config {
namespace {

constexpr std::size_t max_word = 80;

std::string folded(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '-' || c == '_') continue;
    out += base::lower(c);
  }
  return out;
}

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > max_word) return std::nullopt;
  const std::string wanted = folded(word);
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    const std::size_t mistakes = distance(wanted, name);
    if (mistakes < least && mistakes < name.size()) {
      least = mistakes;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto near = closest(word, candidates);
  return near ? "; did you mean " + *near + "?" : std::string{};
}

std::string remedy_for_topic(std::string_view name, std::vector<std::string> listed) {
  std::erase_if(listed, is_internal_topic);
  const auto near = closest(name, listed);
  return near ? "did you mean " + *near + "?" : "create it, or grant Describe on it to the daemon's user";
}

}  // namespace inboxd::config
