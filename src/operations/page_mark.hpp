#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/operation.hpp"

namespace inboxd::operations {

/// Where a page of a list ends: the sort key of its last row, as `1764300000000000/12/4711`. Rows that come or go
/// meanwhile move no later row into an earlier page, unlike a number of rows to skip.
using PageMark = std::vector<std::int64_t>;

std::string text_of_mark(const PageMark& mark);

/// The mark of `--before`, with `size` numbers; nullopt without the option.
struct BeforeArgument {
  std::optional<PageMark> mark;
  std::optional<Answer> refusal;
};
BeforeArgument read_before(const std::string& verb, const Arguments& arguments, std::size_t size);

Parameter before_parameter();

}  // namespace inboxd::operations
