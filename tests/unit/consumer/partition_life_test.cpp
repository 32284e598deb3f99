// Events of an assigned partition, and the actions that the poll thread takes.
#include "consumer/partition_life.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;
using State = PartitionLife::State;
using Action = PartitionLife::Action;

const PartitionLife::Clock::time_point now{1h};

PartitionLife halted() {
  PartitionLife out;
  out.halted(now);
  return out;
}

PartitionLife returning() {
  PartitionLife out = halted();
  out.sought(true);
  return out;
}

}  // namespace

TEST_CASE("an assigned partition is read once its position was sought, and looked up when the position is doubted") {
  PartitionLife life;
  CHECK(life.state() == State::looking_up);
  CHECK(life.time_passed(now) == Action::none);
  life.sought(false);
  CHECK((life.state() == State::reading && life.is_read() && !life.is_halted()));
  CHECK(life.time_passed(now + 1h) == Action::none);
  CHECK(life.doubted() == Action::look_up);
  CHECK((life.state() == State::looking_up && !life.is_read()));
}

TEST_CASE("a look-up without an answer is repeated soon, that of a halted partition after five seconds") {
  PartitionLife life;
  CHECK(life.look_up_failed(now) == Action::pause);
  CHECK(life.time_passed(now + 499ms) == Action::none);
  CHECK(life.time_passed(now + 500ms) == Action::look_up);
  CHECK(life.time_passed(now + 1h) == Action::none);

  life.sought(false);
  CHECK(life.halted(now) == Action::pause);
  CHECK(life.state() == State::halted);
  CHECK(life.time_passed(now + 4999ms) == Action::none);
  CHECK(life.time_passed(now + 5s) == Action::look_up);
  CHECK(life.look_up_failed(now + 6s) == Action::pause);
  CHECK(life.time_passed(now + 6500ms) == Action::look_up);
  CHECK(life.state() == State::halted);
}

TEST_CASE("a partition that is read again after a halt stays halted until something was read") {
  PartitionLife life = returning();
  CHECK((life.state() == State::returning && life.is_read() && life.is_halted()));
  CHECK(name_of(life.state()) == std::string{"halted"});
  life.halt_cleared();
  CHECK(life.state() == State::reading);

  life = returning();
  CHECK(life.doubted() == Action::look_up);
  CHECK(life.state() == State::halted);
  life.halt_cleared();
  CHECK(life.state() == State::looking_up);

  life = halted();
  life.sought(false);  // an operator has removed the reason
  CHECK(life.state() == State::reading);
}

TEST_CASE("three refused seeks in a row need a new assignment, after a halt the first one") {
  PartitionLife life;
  CHECK(life.seek_refused(true, now) == Action::none);
  CHECK(life.time_passed(now + 500ms) == Action::look_up);
  CHECK(life.seek_refused(true, now) == Action::none);
  CHECK(life.seek_refused(false, now) == Action::none);  // another error: the library still reads
  CHECK(life.seek_refused(true, now) == Action::none);
  CHECK(life.seek_refused(true, now) == Action::none);
  CHECK(life.seek_refused(true, now) == Action::rejoin);
  CHECK(life.state() == State::looking_up);
  life.sought(false);
  CHECK(life.seek_refused(true, now) == Action::none);

  life = halted();
  CHECK(life.seek_refused(false, now) == Action::none);
  CHECK(life.seek_refused(true, now) == Action::rejoin);
}

}  // namespace inboxd::consumer
