#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/expression.hpp"
#include "config/settings.hpp"

namespace inboxd::consumer {

/// Which configured topic a topic's name belongs to: the exact name first, then the patterns in their order, which
/// never match Kafka's own topics. Any thread.
class Topics final {
 public:
  explicit Topics(const std::vector<config::Topic>& topics);

  /// Null where no configured topic matches (a record we did not ask for).
  const config::Topic* find(const std::string& name) const;

  const std::vector<config::Topic>& entries() const { return topics_; }

  /// Those that are configured by name.
  std::set<std::string> names() const;

  /// What the client subscribes to: names, and patterns as they are (they begin with ^).
  std::vector<std::string> subscription() const;

 private:
  struct Pattern {
    std::unique_ptr<config::Expression> expression;
    const config::Topic* topic;
  };

  std::vector<config::Topic> topics_;
  std::vector<Pattern> patterns_;
};

}  // namespace inboxd::consumer
