// The main of every Catch2 executable: prints the seed first, so that a red run can be repeated with --rng-seed.
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
