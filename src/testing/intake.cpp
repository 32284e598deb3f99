#include "testing/intake.hpp"

#include <chrono>
#include <utility>

#include "consumer/batch.hpp"
#include "envelope/decode.hpp"
#include "event/now.hpp"
#include "inbox/shard_position.hpp"

namespace inboxd::testing {
namespace {

event::MaybeBytes view_of(const OwnBytes& bytes) {
  return bytes ? event::MaybeBytes{*bytes} : std::nullopt;
}

event::Record record_of(const SampleRecord& sample, std::int64_t offset) {
  event::Record out;
  out.topic = sample.topic;
  out.partition = sample.partition;
  out.offset = offset;
  out.key = view_of(sample.key);
  out.payload = view_of(sample.value);
  for (const auto& [name, value] : sample.headers) out.headers.push_back({name, view_of(value)});
  out.timestamp = sample.timestamp.value_or(event::now());
  return out;
}

/// For a schema.
constexpr std::chrono::seconds registry_patience{10};

}  // namespace

Intake::Intake(const config::Settings& settings, const base::Uuid& owner, inbox::Connection& connection,
               consumer::HandOff& hand_off, base::Logger& log)
    : settings_{settings},
      topics_{settings.topics},
      connection_{connection},
      hand_off_{hand_off},
      decoders_{registry_patience},
      writer_{settings, owner, connection, registrations_, hand_off_, counts_, log} {}

consumer::Shard& Intake::shard_of(const SampleRecord& sample) {
  const auto [found, is_new] = shards_.try_emplace({sample.topic, sample.partition});
  consumer::Shard& shard = found->second;
  if (!is_new) return shard;
  inbox::write_first_positions(connection_, {{sample.topic, "", sample.partition, 0}});
  shard.assignment.partition = found->first;
  shard.position = inbox::find_position(connection_, sample.topic, sample.partition).value();
  const config::Topic& topic = *topics_.find(sample.topic);
  shard.rules = {topic, settings_.kafka.name_space, shard.position.log_id, decoders_.of(topic)};
  hand_off_.assigned(shard.position.shard_id);
  shard.place = std::make_shared<const inbox::Place>(inbox::Place{sample.topic, sample.partition});
  return shard;
}

base::Result<Intake::Taken> Intake::store(const SampleRecord& sample) {
  consumer::Shard& shard = shard_of(sample);
  const std::int64_t next = shard.position.next_offset, offset = sample.offset.value_or(next);
  if (offset < next) {
    return base::Problem{"offset " + std::to_string(offset) + " of " + kafka::text_of(shard.assignment.partition) +
                         " is not after the record before; the next is " + std::to_string(next)};
  }
  const event::Record record = record_of(sample, offset);
  consumer::Batch batch;
  consumer::Part& part = batch.parts.emplace_back();
  part.shard = &shard;
  part.next_offset = offset + 1;
  auto decoded = envelope::decode(record, shard.rules, batch.arena);
  if (const auto* const waiting = std::get_if<envelope::Waiting>(&decoded)) return base::Problem{waiting->detail};
  consumer::add(batch, shard.position.shard_id, record, decoded);
  const auto written = writer_.write(batch, [] { return false; });
  if (!written.mismatched.empty()) return base::Problem{"another session has moved the position of the partition"};
  shard.position.next_offset = part.next_offset;
  if (std::holds_alternative<envelope::Skipped>(decoded)) return Taken{true};
  return Taken{false, operations::read_record(connection_, sample.topic, sample.partition, offset)};
}

}  // namespace inboxd::testing
