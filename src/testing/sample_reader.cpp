#include "testing/sample_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "base/uuid.hpp"
#include "config/suggest.hpp"
#include "testing/sample_bytes.hpp"

namespace inboxd::testing {
namespace {

using config::Entry;
using config::Node;
using Kind = config::Node::Kind;

const std::vector<std::string> outcomes{"done", "retry", "dead", "skipped", "expired", "waiting", "parked"};

}  // namespace

SampleRecord SampleReader::record(const Node& node, const std::string& key) {
  SampleRecord out;
  if (!tree_.is_map(node, key, {"topic", "value", "base64", "hex", "file", "key", "key_hex", "headers", "partition",
                                "offset", "timestamp", "id", "type", "deliver_at", "expect"})) {
    return out;
  }
  out.topic = tree_.required_text(node, key, "topic");
  check_topic(node, key, out.topic);
  out.value = value(node, key);
  out.key = tree_.optional_text(node, key, "key");
  if (const auto digits = tree_.optional_text(node, key, "key_hex")) {
    if (out.key) tree_.problem(node.place, key, "has key and key_hex; keep one of the two");
    out.key = bytes_of_hex(*digits);
    if (!out.key) tree_.problem(node.place, key + ".key_hex", "is no hex");
  }
  const auto* const headers = find(node, "headers");
  if (headers != nullptr && tree_.is_map(*headers, key + ".headers", {})) {
    for (const Entry& entry : headers->entries) {
      const bool is_null = entry.value.kind == Kind::nothing;
      out.headers.emplace_back(entry.key, is_null ? OwnBytes{} : OwnBytes{tree_.sample(entry.value).text});
    }
  }
  out.partition = static_cast<std::int32_t>(tree_.number(node, key, "partition", 0, 100'000).value_or(0));
  out.offset = tree_.number(node, key, "offset", 0, std::numeric_limits<std::int64_t>::max() - 1);
  out.timestamp = tree_.time(node, key, "timestamp");
  out.id = optional_id(node, key);
  out.type = tree_.optional_text(node, key, "type");
  out.deliver_at = tree_.time(node, key, "deliver_at");
  if (const auto* const expected = find(node, "expect")) out.expected = expected_record(*expected, key + ".expect");
  return out;
}

void SampleReader::check_topic(const Node& node, const std::string& key, const std::string& name) {
  const auto* const topic = topics_.find(name);
  if (name.empty()) return;
  if (topic == nullptr) {
    tree_.problem(node.place, key + ".topic", "no entry of topics in the configuration has the name " +
                                            base::json_quote(base::shorten(name, 100)) + " or a pattern for it");
  } else {
    check_parts(node, key, *topic);
  }
}

void SampleReader::check_parts(const Node& node, const std::string& key, const config::Topic& topic) {
  const bool is_local = topic.source == config::Source::local, is_request = is_local && topic.http.is_on();
  const auto refuse = [&](const std::vector<std::string>& names, const std::string& why) {
    for (const Entry& entry : node.entries) {
      if (std::ranges::find(names, entry.key) != names.end()) tree_.problem(entry.place, key + "." + entry.key, why);
    }
  };
  if (!is_local) {
    refuse({"id", "type", "deliver_at"},
           "is an argument of inbox.enqueue, for topics with source: local; give a record of Kafka the headers or the "
           "value that its envelope reads");
  } else if (is_request) {
    refuse({"id", "type", "deliver_at", "key", "key_hex", "partition", "offset", "timestamp"},
           "a request has headers and a value, its body; give them what the topic's rules read");
  } else {
    refuse({"partition", "offset"}, "an enqueued event gets the next offset of partition 0; leave it out");
  }
}

std::optional<std::string> SampleReader::optional_id(const Node& node, const std::string& key) {
  const auto out = tree_.optional_text(node, key, "id");
  if (out && !base::parse_uuid(*out)) {
    tree_.problem(node.place, key + ".id", "must be a UUID, as inbox.enqueue takes it");
  }
  return out;
}

OwnBytes SampleReader::value(const Node& record, const std::string& key) {
  constexpr std::array names{"value", "base64", "hex", "file"};
  const Node* found = nullptr;
  std::string name;
  for (const char* const each : names) {
    const auto* const given = find(record, each);
    if (given != nullptr && found != nullptr) {
      tree_.problem(given->place, key, "has a value already; keep one of the two");
    }
    if (given != nullptr) std::tie(found, name) = std::pair{given, std::string{each}};
  }
  if (found == nullptr || found->kind == Kind::nothing) return std::nullopt;
  if (name == "value") return tree_.sample(*found).text;
  if (name == "file") return tree_.file_content(*found, key + ".file");
  const auto bytes = name == "hex" ? bytes_of_hex(tree_.text(*found, key)) : bytes_of_base64(tree_.text(*found, key));
  if (!bytes) tree_.problem(found->place, key + "." + name, "is no " + name);
  return bytes;
}

ExpectedRecord SampleReader::expected_record(const Node& node, const std::string& key) {
  ExpectedRecord out;
  if (!tree_.is_map(node, key, {"id", "type", "key", "quarantined", "stored", "refused", "handlers"})) return out;
  out.id = tree_.optional_text(node, key, "id");
  out.type = tree_.optional_text(node, key, "type");
  out.key = tree_.optional_text(node, key, "key");
  out.quarantined = tree_.optional_text(node, key, "quarantined");
  out.stored = tree_.optional_text(node, key, "stored");
  out.refused = tree_.optional_text(node, key, "refused");
  if (out.stored && *out.stored != "duplicate" && *out.stored != "skipped") {
    tree_.problem(node.place, key + ".stored", "must be duplicate or skipped");
  }
  if ((out.stored || out.quarantined || out.refused) && (node.entries.size() > 1)) {
    tree_.problem(node.place, key, "such a record has no event: leave out the other keys");
  }
  const auto* const handlers = find(node, "handlers");
  if (handlers == nullptr) return out;
  out.handlers.emplace();
  const std::string name = key + ".handlers";
  for (const Node& item : handlers->items) {  // a list of names
    out.handlers->emplace(tree_.handler({tree_.text(item, name), item.place, {}}, name), ExpectedOutcome{});
  }
  if (handlers->kind == Kind::list || !tree_.is_map(*handlers, name, {})) return out;
  for (const Entry& entry : handlers->entries) {
    out.handlers->emplace(tree_.handler(entry, name), expected_outcome(entry.value, name + "." + entry.key));
  }
  return out;
}

ExpectedOutcome SampleReader::expected_outcome(const Node& node, const std::string& key) {
  ExpectedOutcome out;
  if (node.kind == Kind::map) {
    tree_.is_map(node, key, {"outcome", "error"});
    out.outcome = tree_.required_text(node, key, "outcome");
    out.error = tree_.optional_text(node, key, "error").value_or("");
  } else {
    out.outcome = tree_.text(node, key);
  }
  if (std::ranges::find(outcomes, out.outcome) == outcomes.end()) {
    tree_.problem(node.place, key, "no outcome" + config::did_you_mean(out.outcome, outcomes) + "; outcomes are " +
                                 base::joined(outcomes));
  }
  return out;
}

}  // namespace inboxd::testing
