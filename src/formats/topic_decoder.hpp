#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arena.hpp"
#include "base/mutex.hpp"
#include "config/settings.hpp"
#include "event/record.hpp"
#include "formats/registry.hpp"

namespace inboxd::formats {

/// The result for a record: values without a format are as they came.
struct DecodedRecord {
  event::MaybeBytes value, key;  ///< JSON in the arena; nullopt: null, or without a format
  std::string misfit;            ///< not empty: the record does not fit its schema, or that is unknown; a sentence
  std::string waits;             ///< not empty: the registry does not answer; a sentence
  bool is_usable() const { return misfit.empty() && waits.empty(); }
};

/// Decodes the keys and values of a topic. Any thread.
class TopicDecoder final {
 public:
  struct Part {
    config::Format format;
    std::shared_ptr<Registry> registry;  ///< of formats with a schema
    SchemaAnswer file;                   ///< of `schema_file`
  };
  TopicDecoder(Part value, Part key, std::chrono::milliseconds patience)
      : value_{std::move(value)}, key_{std::move(key)}, patience_{patience} {}

  DecodedRecord decode(const event::Record& record, base::Arena& arena) const;

 private:
  /// JSON needs no decoding, but perhaps lies behind a prefix.
  static bool take_json(std::string_view data, std::string_view all, std::string_view subject, event::MaybeBytes& out,
                        DecodedRecord& result);
  void read_by_schema(const Part& part, const NamedSchema& found, std::string_view subject, std::string& json,
                      DecodedRecord& result) const;
  bool decode(const Part& part, std::string_view name, const SchemaHeaders& names, event::MaybeBytes bytes,
              const std::vector<event::Header>& headers, base::Arena& arena, event::MaybeBytes& out,
              DecodedRecord& result) const;

  const Part value_, key_;
  const std::chrono::milliseconds patience_;
};

/// The decoders of all topics. Topics with equal settings of a registry share its schemas. Any thread.
class Decoders final {
 public:
  /// How long ingest waits for a schema before the partition is set aside.
  static constexpr std::chrono::milliseconds ingest_patience{500};

  /// `patience`: the longest that a record waits for its schema.
  explicit Decoders(std::chrono::milliseconds patience) : patience_{patience} {}

  /// Null if the topic has no format.
  std::shared_ptr<const TopicDecoder> of(const config::Topic& topic);

 private:
  TopicDecoder::Part part_of(const config::Format& format) REQUIRES(mutex_);

  const std::chrono::milliseconds patience_;
  base::Mutex mutex_;
  std::vector<std::pair<config::Registry, std::shared_ptr<Registry>>> registries_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::formats
