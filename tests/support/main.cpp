// Prints the seed first, so that --rng-seed can repeat a failed run.
#include <catch2/catch_session.hpp>
#include <cstdio>

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int problem = session.applyCommandLine(argc, argv); problem != 0) {
    return problem;
  }
  std::printf("seed %u (repeat with --rng-seed)\n", session.config().rngSeed());
  return session.run();
}
