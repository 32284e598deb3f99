#include "process/support/keyed_events.hpp"

#include <set>

#include "support/kafka.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

void KeyedEvents::produce(int count, const std::function<Made(int)>& make) {
  static const std::string run = random_name("").substr(1, 8);
  std::vector<Message> messages;
  std::vector<std::string> made;
  for (int i = 0; i < count; ++i) {
    std::string digits = std::to_string(ids_.size());
    digits.insert(0, 12 - digits.size(), '0');
    const std::string id = run + "-0000-4000-9000-" + digits;
    const Made event = make(i);
    Message message = event_message(fixture_.topic, id, event.payload, event.type);
    message.key = event.record_key.empty() ? event.key : event.record_key;
    if (event.partition) {
      message.key.reset();
      message.partition = *event.partition;
    }
    if (!event.record_key.empty()) message.headers.emplace_back("customer", event.key);
    messages.push_back(std::move(message));
    places_[id] = {event.key, per_key_[event.key]++};
    ids_.push_back(id);
    made.push_back(id);
  }
  fixture_.kafka.produce(messages);
  fixture_.note(made);
}

std::string KeyedEvents::out_of_order(const std::string& handler, bool only_first_attempts,
                                      bool with_repetitions) const {
  std::set<std::string> called;
  std::map<std::string, int> last;
  std::string out;
  int found = 0;
  for (const Recorded& call : fixture_.recording.all()) {
    const auto at = places_.find(call.event_id);
    if (call.handler != handler || at == places_.end() || (only_first_attempts && call.attempt > 1)) continue;
    if (!called.insert(call.event_id).second && !with_repetitions) continue;
    const auto [known, is_first] = last.try_emplace(at->second.key, -1);
    const int number = at->second.number;
    if (number != known->second && number != known->second + 1 && ++found <= 5) {
      out += at->second.key + ": " + std::to_string(number) + " after " + std::to_string(known->second) + " (process " +
             std::to_string(call.process_id) + ", attempt " + std::to_string(call.attempt) + ", partition " +
             std::to_string(call.partition) + ", offset " + std::to_string(call.offset) + "); ";
    }
    known->second = number;
  }
  return found > 0 ? std::to_string(found) + " calls out of order: " + out : "";
}

std::vector<int> KeyedEvents::calls_of(const std::string& key, const std::string& handler) const {
  std::vector<int> out;
  for (const Recorded& call : fixture_.recording.all()) {
    const auto at = places_.find(call.event_id);
    if (call.handler == handler && at != places_.end() && at->second.key == key) out.push_back(at->second.number);
  }
  return out;
}

}  // namespace inboxd::support
