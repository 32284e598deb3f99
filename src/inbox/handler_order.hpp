#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// A handler with rows whose sequence contradicts its mode or order_scope: no instance would run them, or not in their
/// turn. Nothing in this program leaves such rows; an earlier release or a change by hand may have.
struct MisplacedRows {
  std::int32_t handler_id = 0;
  std::string handler;
  std::string mode;
  std::string order_scope;
};
std::vector<MisplacedRows> find_misplaced(Connection& connection);

/// Puts the rows of a handler into the sequences that they belong to, unless another instance has done so. Ends all
/// leases of the handler. Locks routing. Returns the number of rows.
std::int64_t repair_order(Connection& connection, std::int32_t handler_id);

}  // namespace inboxd::inbox
