#include "process/support/recorder_fixture.hpp"

#include "process/support/inbox_counts.hpp"

namespace inboxd::support {

RecorderFixture::RecorderFixture(int partitions) : topic{kafka.create_topic(partitions)}, config{database, kafka} {
  config.topics = {"{name: " + topic + "}"};
  config.handlers = {HandlerText{.topics = {topic}, .settings = {{"file", recording.file()}}}};
}

RecorderFixture::RecorderFixture(int partitions, const std::string& url, const std::string& direct)
    : database{direct}, topic{kafka.create_topic(partitions)}, config{database, kafka} {
  config.url = url;
  config.topics = {"{name: " + topic + "}"};
  config.handlers = {HandlerText{.topics = {topic}, .settings = {{"file", recording.file()}}}};
}

void wait_for_end(RecorderFixture& fixture, milliseconds within) {
  const auto ends = fixture.kafka.ends(fixture.topic);
  std::map<int, std::int64_t> stored;
  std::map<int, std::int64_t> committed;
  wait_until(
      "the inbox and the group are at the end of the topic",
      [&] {
        stored = positions(fixture.database.session(), fixture.topic);
        committed = fixture.kafka.committed(fixture.config.group, fixture.topic);
        for (const auto& [partition, offset] : ends) {
          if (stored[partition] != offset || (offset > 0 && committed[partition] != offset)) return false;
        }
        return true;
      },
      within,
      [&] { return "ends " + text_of(ends) + ", stored " + text_of(stored) + ", group " + text_of(committed); });
}

}  // namespace inboxd::support
