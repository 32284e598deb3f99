#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/record.hpp"

namespace inboxd::operations {

/// A kind of finding of `status`. Its row of the table has its grade and its words; alerts and metrics use the same
/// rows, so that two signals cannot disagree about what is a problem.
struct FindingKind {
  enum class Grade {
    problem,  ///< an operator must act: `status` exits with 1
    remark,   ///< worth knowing
  };
  std::string_view slug;  ///< stable, for programs: `partition_halted`
  Grade grade = Grade::remark;
  /// The alert of config/prometheus about it. Empty: InboxdProblem, if it is a problem.
  std::string_view alert;
  std::string_view text;    ///< the fact, without a period; `{name}` stands for a value, `{name:one|many}` for a word
  std::string_view remedy;  ///< the next step; may be empty
};
const char* name_of(FindingKind::Grade grade);

/// How the reported problem of a daemon begins that has the kind `disk_full`.
inline constexpr std::string_view disk_full_problem = "the database is out of disk space";

std::span<const FindingKind> finding_kinds();
/// Throws std::logic_error if the table has no such row.
const FindingKind& finding_kind(std::string_view slug);

struct StatusFinding {
  using Severity = FindingKind::Grade;
  Severity severity = Severity::remark;
  std::string kind;
  std::string message;
  std::string remedy;
  std::optional<event::Microseconds> since = std::nullopt;  ///< when it began, as far as known

  StatusFinding began(std::optional<event::Microseconds> at) && {
    since = at;
    return std::move(*this);
  }
};

/// The values of the row's places. A place without a value is left empty.
using FindingValues = std::initializer_list<std::pair<std::string_view, std::string>>;
StatusFinding make_finding(std::string_view slug, FindingValues values);
/// ` (text)`, for a detail at the end of a message; nothing for an empty text.
std::string in_brackets(const std::string& text);

}  // namespace inboxd::operations
