// The program: runs a row of the command table (cli/main_command.cpp).
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/main_command.hpp"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    return static_cast<int>(inboxd::cli::main_command(words, inboxd::cli::standard_output()));
  } catch (const std::exception& error) {
    std::cerr << "inboxd: a bug, please report it: " << inboxd::base::escape_controls(error.what()) << '\n';
    return static_cast<int>(inboxd::base::ExitCode::bug);
  }
}
