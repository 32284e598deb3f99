#pragma once
#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::inbox {

/// Parameters as libpq takes them. Views: the bytes must live until the pipeline has been sent.
struct WireParameters {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  void add(const char* value, std::size_t length, int format) {
    values.push_back(value);
    lengths.push_back(static_cast<int>(length));
    formats.push_back(format);
  }
  void add(const std::string& text) { add(text.c_str(), text.size(), 0); }
  /// A finished ArrayParameter.
  void add(std::basic_string_view<std::byte> array) {
    add(reinterpret_cast<const char*>(array.data()), array.size(), 1);
  }
  int count() const { return static_cast<int>(values.size()); }
};

/// Takes the rows of a statement as they arrive, so that libpq need not hold all of them.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void take(const PGresult* rows) = 0;
};

/// Several statements in a single round trip, by libpq's pipeline mode. After a failed statement the rest is skipped.
/// Throws pqxx::broken_connection if the connection breaks. For inbox and transaction.
class Pipeline final {
 public:
  using Result = std::shared_ptr<PGresult>;

  /// The connection must be in pipeline mode and idle.
  explicit Pipeline(PGconn* raw) : raw_{raw} {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Each returns the index of its result.
  std::size_t run(const std::string& sql) { return run(sql, {}, 0); }
  std::size_t run(const std::string& sql, const WireParameters& parameters, int result_format);
  std::size_t prepare(const std::string& name, const std::string& sql);
  std::size_t describe(const std::string& name);
  std::size_t execute(const std::string& name, const WireParameters& parameters, int result_format);

  /// Passes the rows of the last statement to `sink`; its result has none. At most a single statement may have a sink.
  void rows_to(RowSink& sink);

  /// The number of statements so far, which is the index of the next result.
  std::size_t size() const { return count_; }

  /// Sends the statements and waits for all results.
  std::vector<Result> finish();

 private:
  std::size_t sent(int succeeded);
  Result next_result(RowSink* sink);

  PGconn* raw_;
  std::size_t count_ = 0;
  RowSink* sink_ = nullptr;
  std::size_t sink_index_ = 0;  ///< of the statement whose rows the sink takes
};

inline bool is_good(const PGresult* result) {
  const auto status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

}  // namespace inboxd::inbox
