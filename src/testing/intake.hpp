#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/logger.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "consumer/batch_writer.hpp"
#include "formats/topic_decoder.hpp"
#include "inbox/connection.hpp"
#include "inbox/registrations.hpp"
#include "kafka/handle.hpp"
#include "operations/sample_queries.hpp"
#include "testing/test_file.hpp"

namespace inboxd::testing {

/// Sample records into the inbox, by the code that stores records of Kafka: decode, route, ingest. A single thread.
class Intake final {
 public:
  Intake(const config::Settings& settings, const base::Uuid& owner, inbox::Connection& connection,
         consumer::HandOff& hand_off, base::Logger& log);

  /// Of a stored record.
  struct Taken {
    bool is_skipped = false;                            ///< a tombstone that the topic skips
    std::optional<operations::RecordState> state = {};  ///< nullopt, unless skipped or refused: a duplicate
    std::string refused = {};                           ///< why the sender or the application has to correct it
  };
  /// A problem if the record's offset is not after the last of its partition, or the schema registry does not answer.
  /// Throws DatabaseError.
  base::Result<Taken> store(const SampleRecord& sample);

 private:
  consumer::Shard& shard_of(const SampleRecord& sample);

  const config::Settings& settings_;
  const config::Topics topics_;
  inbox::Connection& connection_;
  inbox::Registrations registrations_;
  consumer::HandOff& hand_off_;
  formats::Decoders decoders_;
  consumer::IngestCounts counts_;
  consumer::BatchWriter writer_;
  std::map<kafka::TopicPartition, consumer::Shard> shards_;
};

}  // namespace inboxd::testing
