#include "inbox/pipeline.hpp"

#include <pqxx/pqxx>

namespace inboxd::inbox {

std::size_t Pipeline::sent(int succeeded) {
  if (succeeded == 0) throw pqxx::broken_connection{PQerrorMessage(raw_)};
  return count_++;
}

std::size_t Pipeline::run(const std::string& sql, const WireParameters& parameters, int result_format) {
  return sent(PQsendQueryParams(raw_, sql.c_str(), parameters.count(), nullptr, parameters.values.data(),
                                parameters.lengths.data(), parameters.formats.data(), result_format));
}

std::size_t Pipeline::prepare(const std::string& name, const std::string& sql) {
  return sent(PQsendPrepare(raw_, name.c_str(), sql.c_str(), 0, nullptr));
}

std::size_t Pipeline::describe(const std::string& name) { return sent(PQsendDescribePrepared(raw_, name.c_str())); }

std::size_t Pipeline::execute(const std::string& name, const WireParameters& parameters, int result_format) {
  return sent(PQsendQueryPrepared(raw_, name.c_str(), parameters.count(), parameters.values.data(),
                                  parameters.lengths.data(), parameters.formats.data(), result_format));
}

void Pipeline::rows_to(RowSink& sink) {
  sink_ = &sink;
  sink_index_ = count_ - 1;
}

/// Returns the last PGresult of a statement. Earlier results hold rows, which go to the sink.
Pipeline::Result Pipeline::next_result(RowSink* sink) {
  // Fails if the pipeline was aborted; then there are no rows.
  if (sink != nullptr) PQsetSingleRowMode(raw_);
  Result last;
  while (PGresult* const got = PQgetResult(raw_)) {
    last.reset(got, PQclear);
    if (PQstatus(raw_) != CONNECTION_OK) throw pqxx::broken_connection{PQerrorMessage(raw_)};
    if (PQresultStatus(got) == PGRES_PIPELINE_SYNC) throw pqxx::internal_error{"a pipeline ended early"};
    if (sink != nullptr) sink->take(got);
  }
  if (!last || PQstatus(raw_) != CONNECTION_OK) throw pqxx::broken_connection{PQerrorMessage(raw_)};
  return last;
}

std::vector<Pipeline::Result> Pipeline::finish() {
  if (PQpipelineSync(raw_) == 0) throw pqxx::broken_connection{PQerrorMessage(raw_)};
  std::vector<Result> results;
  results.reserve(count_);
  for (std::size_t i = 0; i < count_; ++i) results.push_back(next_result(i == sink_index_ ? sink_ : nullptr));
  const Result sync{PQgetResult(raw_), PQclear};
  if (!sync || PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC) {
    throw pqxx::broken_connection{PQerrorMessage(raw_)};
  }
  count_ = 0;
  sink_ = nullptr;
  return results;
}

}  // namespace inboxd::inbox
