#pragma once
#include <string>
#include <string_view>

namespace inboxd::inbox {

/// A problem that is stored as a single text, such as the problem of an instance or the reason of a halt, with the
/// commands that end it. `status` shows them apart.
struct ProblemText {
  std::string problem;
  std::string remedy = {};  ///< empty: unknown
};

inline constexpr std::string_view before_remedy = "; remedy: ";

inline std::string text_of(const ProblemText& problem) {
  return problem.remedy.empty() ? problem.problem : problem.problem + std::string{before_remedy} + problem.remedy;
}

inline ProblemText problem_of(const std::string& text) {
  const auto at = text.rfind(before_remedy);
  return at == std::string::npos ? ProblemText{text}
                                 : ProblemText{text.substr(0, at), text.substr(at + before_remedy.size())};
}

}  // namespace inboxd::inbox
