#pragma once
#include <functional>
#include <string>
#include <vector>

#include "report.h"

namespace uhop::check {

/** A kernel that is wrong on purpose, and the check that has to refuse it. */
struct WrongKernel {
  std::string what;
  std::function<void(Report&)> check;
};

std::vector<WrongKernel> wrong_kernels();

}  // namespace uhop::check
