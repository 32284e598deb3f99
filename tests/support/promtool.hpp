#pragma once
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

namespace inboxd::support {

inline void require_promtool() {
  if (std::system("command -v promtool >/dev/null") != 0) FAIL("promtool is not installed: run config/setup/install");
}

}  // namespace inboxd::support
