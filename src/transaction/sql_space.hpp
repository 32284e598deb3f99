#pragma once
#include <cstddef>
#include <string_view>

namespace inboxd::transaction {

/// Where the white space and the comments of SQL that begin at `at` end, as in the server's scanner. Comments of the
/// form /* */ nest.
std::size_t end_of_space(std::string_view sql, std::size_t at);

}  // namespace inboxd::transaction
