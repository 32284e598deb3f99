#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/finding.hpp"
#include "config/settings.hpp"
#include "event/record.hpp"

namespace inboxd::testing {

/// Bytes or null, owned.
using OwnBytes = std::optional<std::string>;

/// A text to compare with, or the text of a JSON document, which is compared by value.
struct Sample {
  std::string text;
  bool is_json = false;
  bool operator==(const Sample&) const = default;
};

struct ExpectedOutcome {
  std::string outcome = "done";
  std::string error;  ///< a part of `class: message`; empty: any
};

/// Only the parts that are set are compared.
struct ExpectedRecord {
  std::optional<std::string> id, type, key;
  std::optional<std::string> quarantined;                           ///< the reason
  std::optional<std::string> refused;                               ///< a part of `status or SQLSTATE: sentence`
  std::optional<std::string> stored;                                ///< duplicate or skipped
  std::optional<std::map<std::string, ExpectedOutcome>> handlers;  ///< all that get the event
};

/// A record of Kafka, an event that an application enqueues, or a request with an event.
struct SampleRecord {
  std::string topic;
  std::int32_t partition = 0;
  std::optional<std::int64_t> offset;  ///< nullopt: the next
  std::optional<event::Microseconds> timestamp;
  OwnBytes key, value;
  std::optional<std::string> id, type;            ///< of an enqueued event
  std::optional<event::Microseconds> deliver_at;  ///< of an enqueued event
  std::vector<std::pair<std::string, OwnBytes>> headers;
  ExpectedRecord expected;
};

/// The answer to a request of a handler `http`.
struct RecordedAnswer {
  int status = 204;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct ExpectedRequest {
  std::optional<std::string> method, path;
  std::optional<Sample> body;
};

struct ExpectedMessage {
  std::string topic;
  std::optional<std::string> key;
  std::optional<Sample> value;
  std::map<std::string, std::string> headers;  ///< some of the headers
};

/// A row of a query: a sample for each column; nullopt: null.
using ExpectedRow = std::vector<std::optional<Sample>>;

struct Case {
  std::string name;
  std::vector<std::string> setup;  ///< SQL
  std::vector<SampleRecord> records;
  std::map<std::string, std::vector<RecordedAnswer>> answers;  ///< by handler, in order; the last is repeated
  std::string query;
  std::vector<ExpectedRow> rows;
  std::map<std::string, std::vector<ExpectedRequest>> requests;  ///< by handler, in order
  std::optional<std::vector<ExpectedMessage>> published;         ///< in any order
};

struct TestFile {
  std::vector<std::string> setup;  ///< SQL, once for all cases
  std::vector<Case> cases;
  std::vector<config::Finding> problems;  ///< the file is valid only without any
};

/// Reads a file of tests for this configuration, and the files that it names, which are relative to it. Never throws
/// for the content of a file. Blocks on file I/O.
TestFile read_test_file(const std::string& path, const config::Settings& settings);

/// As above, for a text that is called `path`.
TestFile read_test_text(const std::string& text, const std::string& path, const config::Settings& settings);

}  // namespace inboxd::testing
