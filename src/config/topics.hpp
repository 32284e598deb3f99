#pragma once
#include <regex.h>

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"

namespace inboxd::config {

/// A compiled POSIX extended regular expression, the kind that librdkafka uses for topics. std::regex would recurse
/// once for each character of a long text.
class Expression final {
 public:
  explicit Expression(const std::string& pattern)
      : error_{regcomp(&compiled_, pattern.c_str(), REG_EXTENDED | REG_NOSUB)} {}
  ~Expression() {
    if (error_ == 0) regfree(&compiled_);
  }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  /// The mistake in the pattern; a wrong pattern matches nothing.
  std::optional<std::string> problem() const;
  bool matches(const std::string& text) const {
    return error_ == 0 && regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  int error_;
};

/// Kafka's own topics, which no daemon may read: each read of __consumer_offsets would add a record to it.
/// kafka/properties hides the same names from patterns.
inline constexpr std::array<std::string_view, 5> internal_topics{
    "__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"};
bool is_internal_topic(std::string_view name);

/// The expression of an entry of `exclude`: the entry itself, or for a name with `*` an expression that matches all
/// such names.
std::string excluding_expression(const std::string& entry);

/// Maps a topic's name to its configuration: the exact name first, then the patterns in order. Patterns never match
/// Kafka's own topics, nor topics that any entry excludes. Any thread.
class Topics final {
 public:
  explicit Topics(const std::vector<Topic>& topics, ShardOf shard = {});

  /// Null if no configured topic matches.
  const Topic* find(const std::string& name) const;

  const std::vector<Topic>& entries() const { return topics_; }
  /// Which partitions of the topics belong to this database.
  const ShardOf& shard() const { return shard_; }

  /// The topics configured by name.
  std::set<std::string> names() const;

  /// The client's subscription: names, and patterns as written (they begin with ^).
  std::vector<std::string> subscription() const;
  /// The expressions of all that is excluded, for the client.
  std::vector<std::string> excluded() const;

 private:
  struct Pattern {
    std::unique_ptr<Expression> expression;
    const Topic* topic;
  };

  std::vector<Topic> topics_;
  ShardOf shard_;
  std::vector<Pattern> patterns_;
  std::vector<std::unique_ptr<Expression>> excluded_;
};

/// The topics to read from Kafka. Their patterns do not match the names of local topics.
std::vector<Topic> kafka_topics(const std::vector<Topic>& topics);

Policy policy_of(const Handler& handler);

/// Of a topic whose events a handler gets.
inline Unwrap unwrap_of(const Policy& policy, const std::string& topic) {
  const Topic* const found = policy.topics ? policy.topics->find(topic) : nullptr;
  return found == nullptr ? Unwrap::automatic : found->unwrap;
}

}  // namespace inboxd::config
