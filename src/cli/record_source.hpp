#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "config/settings.hpp"
#include "event/record.hpp"

namespace inboxd::cli {

/// Why there is no record, as a sentence.
struct NoRecord {
  base::ExitCode code = base::ExitCode::no;
  std::string message;
};

/// Takes a record, whose bytes are valid during the call. `log`: the topic's id in Kafka.
using TakeRecord = std::function<void(const event::Record& record, const std::string& log)>;

/// Reads a record of Kafka. Blocks on the brokers, with a limit for each request.
std::optional<NoRecord> read_record(const config::Kafka& kafka, const std::string& topic, std::int32_t partition,
                                    std::int64_t offset, const TakeRecord& take);

/// The topic's newest `count` records by their time, oldest first: among the last `count` offsets of each partition.
std::optional<NoRecord> read_newest(const config::Kafka& kafka, const std::string& topic, std::int64_t count,
                                    const TakeRecord& take);

/// How much of a topic's end is read at most.
struct EndLimits {
  std::int64_t records = 100;  ///< of each partition, by offsets
  std::int64_t bytes = 16 << 20;
  std::chrono::milliseconds time{30'000};
};
struct EndRead {
  int partitions = 0;
  bool is_cut = false;  ///< bytes or time were used up before all partitions were read
};

/// The newest records of each partition, partition by partition. No records: no problem. `took` says what was read.
std::optional<NoRecord> read_ends(const config::Kafka& kafka, const std::string& topic, const EndLimits& limits,
                                  const TakeRecord& take, EndRead& took);

}  // namespace inboxd::cli
