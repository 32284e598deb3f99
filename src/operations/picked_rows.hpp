#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operations/operation.hpp"

namespace inboxd::operations {

using RowIds = std::vector<std::int64_t>;

struct PickedRow {
  std::int64_t id = 0;
  std::string name;  ///< of its handler or topic
};

/// The rows of a change.
struct PickedRows {
  RowIds ids;
  std::map<std::string, std::int64_t> names;  ///< with the number of their rows
  bool more = false;                          ///< more match
};

/// The rows that `read(agreed, limit)` returns, at most Context::max_rows. `agreed`: the ids of the confirmed plan,
/// which has them as `ids_name`; nullopt: there is no plan.
template <class Read>
PickedRows pick_rows(Context& context, const char* ids_name, Read read) {
  PickedRows out;
  std::optional<RowIds> agreed;
  if (!context.agreed.is_null()) {
    agreed = context.agreed.at(ids_name).get<RowIds>();
    out.more = context.agreed.value("more", false);
  }
  for (const PickedRow& row : read(agreed, context.max_rows + 1)) {
    if (std::ssize(out.ids) == context.max_rows) {
      out.more = true;
      break;
    }
    out.ids.push_back(row.id);
    ++out.names[row.name];
  }
  return out;
}

}  // namespace inboxd::operations
