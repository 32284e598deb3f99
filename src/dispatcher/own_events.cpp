#include "dispatcher/own_events.hpp"

#include <memory>

namespace inboxd::dispatcher {
namespace {

/// Blocks smaller than this are not worth copying from.
constexpr std::size_t small_block = 64 * 1024;
/// A run is a small part of its block where the block is more than so many times its size.
constexpr std::size_t small_part = 8;

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
    own->events.push_back(event::copy(*event, own->arena));
    event = &own->events.back();
  }
  run.block = own;
}

}  // namespace inboxd::dispatcher
