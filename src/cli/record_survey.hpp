#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/record.hpp"

namespace inboxd::cli {

/// What the records of a topic look like: their envelope, ids, keys and encoding, by the code of ingest. Keeps counts
/// only, and no content.
class RecordSurvey final {
 public:
  explicit RecordSurvey(std::string topic) : topic_{std::move(topic)} {}

  /// `log`: the topic's id in Kafka.
  void add(const event::Record& record, const std::string& log);

  std::int64_t records() const { return records_; }
  /// Counts of shapes, a sentence each.
  std::vector<std::string> sentences() const;
  /// The value for `topics[].envelope`: the only envelope of all records with a value, else `auto`.
  std::string envelope() const;
  /// Some records have no id that the envelope gives them.
  bool lacks_ids() const { return lacks_ids_ > 0; }
  /// Records with a key that orders them, and without.
  bool lacks_keys() const { return without_key_ > 0; }
  bool has_no_keys() const { return without_key_ == records_; }
  /// Values are encoded with a schema that a registry has, and are not JSON.
  bool needs_registry() const { return registry_ + in_header_ > 0; }
  bool is_apicurio() const { return apicurio_ > 0 && apicurio_ == registry_; }
  bool has_binary_keys() const { return binary_keys_ > 0; }
  /// Places that may hold an id, as `topics[].custom.id` writes them: each record has another value there.
  std::vector<std::string> id_places() const;

 private:
  void note_value(const event::Record& record);
  void note_ids(const event::Record& record);
  void note_id(const std::string& place, std::string_view value);

  /// A place that may hold an id.
  struct IdPlace {
    std::int64_t records = 0;
    std::set<std::string> digests;  ///< of the values
  };

  const std::string topic_;
  std::int64_t records_ = 0, without_key_ = 0, binary_keys_ = 0;
  std::int64_t tombstones_ = 0, objects_ = 0, other_json_ = 0, json_with_schema_id_ = 0, registry_ = 0, apicurio_ = 0,
               in_header_ = 0, not_json_ = 0;
  std::int64_t lacks_ids_ = 0, refused_ = 0;
  std::map<std::string, std::int64_t> envelopes_;  ///< records by the name of their envelope
  std::map<std::string, IdPlace> ids_;
};

}  // namespace inboxd::cli
