#include "scenarios.hpp"

namespace inboxd::bench {

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"ingest-memory", "records from memory, no broker: ledger, event, delivery run, position", measure_ingest_memory},
      {"ingest-kafka", "a preloaded topic until all is stored", measure_ingest_kafka},
      {"end-to-end", "a preloaded topic until all is settled by a no-op plugin", measure_end_to_end},
      {"three-handlers", "end to end with three handlers instead of one", measure_three_handlers},
      {"duplicates", "every record was there before", measure_duplicates},
  };
  return all;
}

}  // namespace inboxd::bench
