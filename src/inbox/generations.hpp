#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/uuid.hpp"
#include "event/event.hpp"
#include "inbox/connection.hpp"
#include "inbox/id_filter.hpp"

namespace inboxd::inbox {

/// A generation of the ledger that gets no more ids. `filter_key` names its filter: another freeze has another key.
struct FrozenGeneration {
  std::int32_t generation = 0;
  std::int64_t filter_key = 0;
};

/// An id of a batch that a frozen generation may have.
struct Suspect {
  std::int32_t generation = 0;
  base::Uuid event_id;
};

/// An id that the generation with this filter may have.
struct FilterSuspect {
  std::int64_t filter_key = 0;
  base::Uuid event_id;
};

/// Answers of the filters in memory, without the generations that the database has now: it looks ids up in all
/// generations whose filter was not asked.
struct FilterAnswers {
  std::vector<std::int64_t> filter_keys;  ///< of the filters that were asked
  std::vector<FilterSuspect> suspects;
};

/// The filters of frozen generations that are in memory. A missing filter costs look-ups in its generation and nothing
/// else. Maintenance puts them, ingesters and the receiver of webhooks ask. Any thread.
class LedgerFilters final {
 public:
  std::shared_ptr<const IdFilter> find(std::int64_t filter_key) const;
  void put(std::int64_t filter_key, std::shared_ptr<const IdFilter> filter);
  /// Drops the filters of all other keys.
  void keep(const std::vector<std::int64_t>& filter_keys);
  std::size_t bytes() const;
  std::size_t count() const;

  /// The ids of a batch that these generations may have, by generation.
  std::vector<Suspect> suspects(const std::vector<FrozenGeneration>& frozen,
                                const std::vector<event::Event>& events) const;
  FilterAnswers ask(const std::vector<base::Uuid>& ids) const;

 private:
  mutable base::Mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const IdFilter>> filters_ GUARDED_BY(mutex_);
};

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
