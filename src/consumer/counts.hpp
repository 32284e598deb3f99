#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/histogram.hpp"
#include "envelope/decode.hpp"

namespace inboxd::consumer {

/// How records were read: by which rule (the last: none), with what result.
template <class Number>
using DecodeCounts = std::array<std::array<Number, envelope::decode_results>, envelope::most_rules + 1>;

/// What ingest has done since the start. Any thread reads.
struct IngestCounts {
  std::atomic<std::uint64_t> stored{0}, duplicates{0}, conflicts{0}, quarantined{0}, batches{0}, repeats{0},
      mismatches{0};
  std::atomic<int> held{0};  ///< ingesters that store nothing now, until handlers are put back
  DecodeCounts<std::atomic<std::uint64_t>> decoded{};
  /// From a batch's first try to its commit.
  base::Histogram batch_seconds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  base::Histogram batch_records{1, 3, 10, 30, 100, 300, 1'000, 3'000, 10'000, 30'000, 100'000};
};

}  // namespace inboxd::consumer
