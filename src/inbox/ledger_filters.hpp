#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "base/uuid.hpp"
#include "event/event.hpp"
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
/// else. Maintenance alone puts and drops them; ingesters and the receiver of webhooks ask, on any thread. Of many
/// filters those of one size are kept side by side. The memory of one that was dropped is free once its neighbours are
/// dropped, too: at most a ninth of all.
class LedgerFilters final {
 public:
  bool has(std::int64_t filter_key) const;
  /// `filter`: of one lane.
  void put(std::int64_t filter_key, std::shared_ptr<const IdFilter> filter);
  /// Drops the filters of all other keys.
  void keep(const std::vector<std::int64_t>& filter_keys);
  /// Of the filters here: one made with it can be asked together with them. nullopt: there are none.
  std::optional<std::int64_t> hash_key() const;
  std::size_t bytes() const;
  std::size_t count() const;

  /// The ids of a batch that these generations may have.
  std::vector<Suspect> suspects(const std::vector<FrozenGeneration>& frozen,
                                const std::vector<event::Event>& events) const;
  FilterAnswers ask(const std::vector<base::Uuid>& ids) const;

 private:
  struct Place {
    std::shared_ptr<const IdFilter> filter;
    std::size_t lane = 0;
  };
  using Places = std::map<std::int64_t, Place>;  ///< by filter key

  Places places() const;
  std::vector<std::int64_t> alike() const;
  void join_alike();

  mutable base::Mutex mutex_;
  Places places_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::inbox
