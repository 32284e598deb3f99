#include <algorithm>
#include <iterator>

#include "config/load.hpp"
#include "config/settings_table.hpp"

namespace inboxd::config {
namespace {

template <class Owner>
void compare(const std::vector<Row<Owner>>& rows, const Owner& before, const Owner& after, const std::string& path,
             std::vector<std::string>& out) {
  for (const Row<Owner>& row : rows) {
    if (row.about.needs_restart && row.get(before) != row.get(after)) out.push_back(path + row.about.key);
  }
}

/// Identifies an entry of a list across reloads.
std::string identity(const Topic& topic) { return topic.name + "\n" + topic.pattern; }
const std::string& identity(const Handler& handler) { return handler.name; }

template <class Owner>
bool are_same_entries(const std::vector<Owner>& before, const std::vector<Owner>& after) {
  if (before.size() != after.size()) return false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (identity(before[i]) != identity(after[i])) return false;
  }
  return true;
}

/// A reload adds and removes local topics.
std::vector<Topic> without_local(std::vector<Topic> topics) {
  std::erase_if(topics, [](const Topic& topic) { return topic.source == Source::local; });
  return topics;
}

/// Whether `key` is `whole` or below it.
bool is_in(const std::string& key, const std::string& whole) {
  return key.starts_with(whole) && (key.size() == whole.size() || key[whole.size()] == '.' || key[whole.size()] == '[');
}

}  // namespace

void keep_origins(const std::vector<std::string>& kept, const std::map<std::string, Origin>& before,
                  std::map<std::string, Origin>& after) {
  const auto stays = [&](const auto& entry) {
    return std::any_of(kept.begin(), kept.end(), [&](const auto& whole) { return is_in(entry.first, whole); });
  };
  std::erase_if(after, stays);
  for (const auto& entry : before) {
    if (stays(entry)) after.insert(entry);
  }
}

void take_retention(std::vector<Topic>& topics, const std::vector<Topic>& from) {
  if (!are_same_entries(topics, from)) return;
  for (std::size_t i = 0; i < topics.size(); ++i) topics[i].retention = from[i].retention;
}

void take_local_topics(std::vector<Topic>& topics, const std::vector<Topic>& from) {
  std::vector<Topic> kept = without_local(std::move(topics));
  topics.clear();
  if (!are_same_entries(kept, without_local(from))) {
    topics = std::move(kept);
    std::copy_if(from.begin(), from.end(), std::back_inserter(topics),
                 [](const Topic& topic) { return topic.source == Source::local; });
    return;
  }
  auto next = kept.begin();
  for (const Topic& topic : from) topics.push_back(topic.source == Source::local ? topic : std::move(*next++));
}

std::vector<std::string> restart_needed(const Settings& before, const Settings& after) {
  const Table table = settings_table();
  std::vector<std::string> out;
  Settings wanted = after;  // a changed text in a file is read again by the parts that use it
  for (const auto& [name, secret] : after.kafka.secrets) {
    const auto old = before.kafka.secrets.find(name);
    if (old != before.kafka.secrets.end() && old->second == secret) {
      wanted.kafka.properties[name] = before.kafka.properties.at(name);
    }
  }
  compare(table.settings, before, wanted, "", out);
  const auto kafka_before = without_local(before.topics);
  if (!are_same_entries(kafka_before, without_local(after.topics))) {
    out.push_back("topics");
  } else {
    std::size_t read = 0;
    for (std::size_t i = 0; i < after.topics.size(); ++i) {
      if (after.topics[i].source == Source::local) continue;
      compare(table.topics, kafka_before[read++], after.topics[i], "topics[" + std::to_string(i) + "].", out);
    }
  }
  // A reload may add and remove handlers; the others are matched by name.
  for (std::size_t i = 0; i < after.handlers.size(); ++i) {
    for (const Handler& old : before.handlers) {
      if (identity(old) == identity(after.handlers[i])) {
        compare(table.handlers, old, after.handlers[i], "handlers[" + std::to_string(i) + "].", out);
      }
    }
  }
  return out;
}

}  // namespace inboxd::config
