#include "maintenance/generations.hpp"

#include <algorithm>

#include "base/uuid.hpp"
#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"

namespace inboxd::maintenance {
namespace {

using namespace std::chrono_literals;

constexpr int max_blocks = 1024;  // 8 MiB: about 110,000 ids
constexpr auto long_batch = 1s;
constexpr auto short_batch = 250ms;
constexpr std::chrono::minutes retry_pinned{60}, retry_locked{10}, retry_none{0};
/// A block of 8 KiB has no more rows of the ledger.
constexpr std::int64_t max_ids_per_block = 107;

std::int64_t max_ids(const inbox::StoredGeneration& generation) { return generation.blocks * max_ids_per_block; }

}  // namespace

int next_blocks(int blocks, std::chrono::nanoseconds took) {
  if (took > long_batch) return std::max(blocks / 2, 1);
  return took < short_batch ? std::min(blocks * 2, max_blocks) : blocks;
}

Generations::Generations(const config::Settings& settings, inbox::LedgerFilters& filters, inbox::Connection& connection,
                         Turn& turn, base::Logger& log)
    : filters_{filters},
      connection_{connection},
      turn_{turn},
      log_{log},
      settings_{settings.ledger},
      keep_{settings.retention.ledger} {}

void Generations::set_retention(const config::Settings& settings) {
  const base::Lock lock{mutex_};
  keep_ = settings.retention.ledger;
}

config::Keep Generations::keep() const {
  const base::Lock lock{mutex_};
  return keep_;
}

void Generations::turn_over() {
  const auto time = keep();
  turn_.beat();
  if (inbox::freeze_generation(connection_, settings_.generation_ids, time)) log_.info("maintenance.ledger_frozen", {});
  if (!time || Clock::now() < next_try_) return;
  next_try_ = Clock::now() + retry_locked;  // used if it throws: each try holds up batches for half a second
  turn_.run_batches([&] {
    const auto dropped = inbox::drop_generation(connection_, *time);
    next_try_ = Clock::now() + (dropped.pinned > 0 ? retry_pinned : retry_none);
    if (dropped.pinned > 0) log_.warn("maintenance.ids_kept", {{"generations", dropped.pinned}});
    if (dropped.generation) log_.info("maintenance.ids_trimmed", {{"ids", dropped.ids}});
    return dropped.generation.has_value();
  });
}

/// The newest generations, as many as the memory for filters allows.
std::vector<inbox::StoredGeneration> Generations::wanted() {
  auto generations = inbox::read_generations(connection_);
  std::size_t bytes = 0, count = 0;
  for (const auto& one : generations) {
    bytes += inbox::IdFilter::bytes_for(max_ids(one));
    if (bytes <= settings_.filter_bytes) ++count;
  }
  const bool are_left_out = count < generations.size();
  if (are_left_out && !left_out_) {
    log_.warn("maintenance.filters_left_out", {{"generations", generations.size() - count}, {"bytes_needed", bytes}});
  }
  left_out_ = are_left_out;
  generations.resize(count);
  return generations;
}

void Generations::load_filters() {
  const auto generations = wanted();
  std::vector<std::int64_t> keys;
  for (const auto& one : generations) keys.push_back(one.frozen.filter_key);
  filters_.keep(keys);
  std::erase_if(damaged_, [&](auto key) { return std::find(keys.begin(), keys.end(), key) == keys.end(); });
  if (making_ && std::find(keys.begin(), keys.end(), making_->of.frozen.filter_key) == keys.end()) making_.reset();
  turn_.run_batches([&] {
    const auto missing = std::find_if(generations.begin(), generations.end(),
                                      [&](const auto& one) { return !filters_.has(one.frozen.filter_key); });
    return missing != generations.end() && load_or_make(*missing);
  });
}

/// Returns whether there may be more to do.
bool Generations::load_or_make(const inbox::StoredGeneration& generation) {
  const std::int64_t key = generation.frozen.filter_key;
  if (making_) return make_on();
  if (generation.filter_parts > 0 && !damaged_.contains(key)) {
    if (auto filter = inbox::read_filter(connection_, generation)) {
      filters_.put(key, std::move(filter));
    } else {
      damaged_.insert(key);
    }
    return true;
  }
  const std::int64_t hash_key = filters_.hash_key().value_or(base::random_fence());
  making_ = std::make_unique<Making>(
      Making{generation, std::make_shared<inbox::IdFilter>(hash_key, max_ids(generation)), 0});
  return true;
}

/// The generation was frozen before its filter began: a frozen generation gets no more ids.
bool Generations::make_on() {
  const auto began = Clock::now();
  const auto& of = making_->of;
  const std::int64_t end = std::min(making_->next_block + blocks_, of.blocks);
  for (const auto& id : inbox::read_ids(connection_, of.frozen.generation, making_->next_block, end)) {
    making_->filter->add(id);
  }
  making_->next_block = end;
  blocks_ = next_blocks(blocks_, Clock::now() - began);
  if (end < of.blocks) return true;
  // Moved rows may have been passed over.
  const auto now = inbox::read_generations(connection_);
  if (std::none_of(now.begin(), now.end(), [&](const auto& one) {
        return one.frozen.filter_key == of.frozen.filter_key && one.file == of.file;
      })) {
    making_.reset();
    return false;
  }
  inbox::store_filter(connection_, of.frozen.filter_key, *making_->filter);
  log_.info("maintenance.filter_made", {{"bytes", making_->filter->bytes()}});
  filters_.put(of.frozen.filter_key, std::move(making_->filter));
  making_.reset();
  return true;
}

}  // namespace inboxd::maintenance
