#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "operations/sample_queries.hpp"
#include "testing/answer_server.hpp"
#include "testing/intake.hpp"
#include "testing/test_file.hpp"

namespace inboxd::testing {

/// What a handler made of an event at its first attempt.
struct Outcome {
  std::string outcome;  ///< a word of the test file; empty: none yet
  std::string error;    ///< `class: message`
};
/// Pure. `is_batch`: the handler collects events, so that a waiting event has no outcome yet.
Outcome outcome_of(const operations::EventState& state, bool is_batch);

struct ObservedRecord {
  Intake::Taken taken;
  std::map<std::string, Outcome> handlers;
};

struct Observed {
  std::vector<ObservedRecord> records;
  operations::TextRows rows;
  Requests requests;
  std::vector<operations::OutgoingMessage> published;
};

/// The differences between a case and what was observed, each with both sides. `handlers`: of the configuration. Pure.
std::vector<std::string> differences(const Case& expected, const Observed& observed,
                                     const std::vector<config::Handler>& handlers);

}  // namespace inboxd::testing
