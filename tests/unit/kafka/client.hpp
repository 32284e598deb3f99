#pragma once
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>

#include "kafka/properties.hpp"

namespace inboxd::kafka {

/// A client for queries, in no group, without log lines.
inline Client client_of(const std::string& brokers) {
  auto conf = make_conf({brokers, "", "", {}, 0});
  REQUIRE(conf);
  rd_kafka_conf_set_log_cb(conf.value().get(), nullptr);
  auto made = make_consumer(std::move(conf).value());
  REQUIRE(made);
  return std::move(made).value();
}

/// A client without brokers.
inline Client lonely_client() { return client_of("127.0.0.1:1"); }

}  // namespace inboxd::kafka
