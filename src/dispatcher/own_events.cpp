#include "dispatcher/own_events.hpp"

#include <memory>

namespace inboxd::dispatcher {
namespace {

/// Blocks smaller than this are not worth copying from.
constexpr std::size_t small_block = 64 * 1024;
/// A run is a small part of its block where the block is more than so many times its size.
constexpr std::size_t small_part = 8;

event::MaybeBytes copy(base::Arena& arena, const event::MaybeBytes& bytes) {
  return bytes ? event::MaybeBytes{arena.copy(*bytes)} : std::nullopt;
}

event::Event copy(base::Arena& arena, const event::Event& event) {
  event::Event out = event;
  out.source_id = copy(arena, event.source_id);
  out.event_type = arena.copy(event.event_type);
  out.source = copy(arena, event.source);
  out.subject = copy(arena, event.subject);
  out.key = copy(arena, event.key);
  out.payload = copy(arena, event.payload);
  out.headers = copy(arena, event.headers);
  return out;
}

}  // namespace

std::int64_t bytes_of(const inbox::LeasedRun& run) {
  std::size_t bytes = 0;
  for (const event::Event* event : run.events) bytes += event::size_of(*event);
  return static_cast<std::int64_t>(bytes);
}

void own_events(inbox::LeasedRun& run, std::int64_t bytes) {
  if (!run.block) return;
  const std::size_t block = run.block->arena.used() + run.block->events.size() * sizeof(event::Event);
  const auto mine = static_cast<std::size_t>(bytes);
  if (block < small_block || mine * small_part > block) return;
  const std::shared_ptr<inbox::EventBlock> own{new inbox::EventBlock{base::Arena{mine}, {}}};
  own->events.reserve(run.events.size());  // none may move: the run points to them
  for (const event::Event*& event : run.events) {
    own->events.push_back(copy(own->arena, *event));
    event = &own->events.back();
  }
  run.block = own;
}

}  // namespace inboxd::dispatcher
