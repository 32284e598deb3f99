#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "inbox/id_filter.hpp"
#include "inbox/ledger_filters.hpp"

namespace inboxd::inbox {

/// A frozen generation, as maintenance sees it.
struct StoredGeneration {
  FrozenGeneration frozen;
  std::int64_t blocks = 0;      ///< of its table
  std::int32_t filter_parts = 0;  ///< of its stored filter; 0: none
  std::int64_t file = 0;          ///< another: its rows have moved (VACUUM FULL)
};
/// The newest first.
std::vector<StoredGeneration> read_generations(Connection& connection);

/// The ids in a range of blocks of a generation.
std::vector<base::Uuid> read_ids(Connection& connection, std::int32_t generation, std::int64_t first_block,
                                 std::int64_t end_block);

/// The stored filter of a generation; null: a part is missing or damaged.
std::shared_ptr<IdFilter> read_filter(Connection& connection, const StoredGeneration& generation);
/// Stores a filter in parts, in place of another of this generation, unless the generation is gone.
void store_filter(Connection& connection, std::int64_t filter_key, const IdFilter& filter);

/// Begins another generation if it is due: the present one has `ids` ids (0: its index is a quarter of shared_buffers),
/// or an eighth of `keep` has passed. Returns whether it did.
bool freeze_generation(Connection& connection, std::int64_t ids, const std::optional<std::chrono::milliseconds>& keep);

struct DroppedGeneration {
  std::optional<std::int32_t> generation;  ///< nullopt: none was dropped
  std::int64_t ids = 0;                    ///< about
  std::int32_t pinned = 0;                 ///< generations past their retention that a position keeps
};
/// Drops the oldest generation that was frozen before `keep`. Blocks ingest for less than a second; if that is not
/// enough, it throws and changes nothing.
DroppedGeneration drop_generation(Connection& connection, std::chrono::milliseconds keep);

}  // namespace inboxd::inbox
