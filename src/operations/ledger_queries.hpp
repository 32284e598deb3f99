#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

/// The ledger of event ids, and what decides how fast it is.
struct LedgerState {
  std::int64_t generations = 0;
  std::int64_t ids = 0;                         ///< by statistics of the server
  std::int64_t most_frozen_ids = 0;             ///< in frozen generations, if their blocks are full
  std::int64_t bytes = 0;
  std::int64_t index_bytes = 0;
  std::int64_t seconds = 0;                     ///< since the oldest generation began
  std::int64_t filters = 0;                     ///< stored; a generation less than the generations have one
  std::optional<double> random_share;           ///< 0..1: ids that are not in the order of time (UUIDv7, UUIDv6)
  std::int64_t shared_buffers = 0;              ///< bytes
  std::int64_t resends = 0;                     ///< of the last 90 days
  std::optional<std::int64_t> resend_seconds;   ///< 99.9 % of them came within; rounded up
  double wal_per_second = 0;                    ///< bytes, of the whole server
  double full_page_share = 0;                   ///< 0..1, of its WAL
  std::int64_t checkpoint_bytes = 0;            ///< WAL between two checkpoints, by its settings
};
LedgerState read_ledger(inbox::Connection& connection);

/// What an operator may change, in sentences. `filter_bytes`: ledger.filter_bytes. Pure.
std::vector<std::string> ledger_advice(const LedgerState& ledger, const config::Retention& retention,
                                       std::size_t filter_bytes);

Document document_of(const LedgerState& ledger, const std::vector<std::string>& advice);

}  // namespace inboxd::operations
