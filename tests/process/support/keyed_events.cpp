#include "process/support/keyed_events.hpp"

#include <algorithm>

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

void KeyedEvents::note_suspended(int process_id, std::int64_t from_ms, std::int64_t to_ms) {
  suspensions_.push_back({process_id, from_ms, to_ms});
}

bool KeyedEvents::is_late(const Recorded& call, const std::vector<Recorded>& earlier) const {
  constexpr std::int64_t awake_after_ms = 2'000;
  return std::any_of(suspensions_.begin(), suspensions_.end(), [&](const Suspension& each) {
    const bool has_just_woken = call.process_id == each.process_id && call.monotonic_ms >= each.to_ms &&
                                call.monotonic_ms < each.to_ms + awake_after_ms;
    return has_just_woken && std::any_of(earlier.begin(), earlier.end(), [&](const Recorded& other) {
             return other.process_id != call.process_id && other.monotonic_ms >= each.from_ms;
           });
  });
}

std::string KeyedEvents::out_of_order(const std::string& handler, bool only_first_attempts) const {
  std::map<std::string, std::vector<Recorded>> calls;  // by event
  std::map<std::string, int> last;
  std::string out;
  int found = 0;
  for (const Recorded& call : fixture_.recording.all()) {
    const auto at = places_.find(call.event_id);
    if (call.handler != handler || at == places_.end() || (only_first_attempts && call.attempt > 1)) continue;
    std::vector<Recorded>& earlier = calls[call.event_id];
    const bool is_excused = is_late(call, earlier);
    earlier.push_back(call);
    if (is_excused) continue;
    const auto [known, is_first] = last.try_emplace(at->second.key, -1);
    const int number = at->second.number;
    if (number != known->second && number != known->second + 1 && ++found <= 5) {
      out += at->second.key + ": " + std::to_string(number) + " after " + std::to_string(known->second) +
             ", partition " + std::to_string(call.partition) + ", offset " + std::to_string(call.offset) +
             ", its calls:";
      for (const Recorded& each : earlier) {
        out += " attempt " + std::to_string(each.attempt) + " by process " + std::to_string(each.process_id) + " at " +
               std::to_string(each.monotonic_ms) + " ms,";
      }
      out.back() = ';';
      out += ' ';
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
