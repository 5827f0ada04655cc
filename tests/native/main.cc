#include <cstdio>
#include <cstring>

#include "../../native/probe/isa.h"
#include "checks.h"
#include "memory.h"
#include "wrong.h"

// Every kernel of the build against a scalar reference, and the checks themselves against wrong kernels. One line each
// on stdout: ok, FAIL or skip; the last line sums up. Exit code 1 when something failed.
//   native-tests [--brief]

namespace uhop::check {

bool can_run(Isa isa) {
#ifdef UHOP_WIDE
  // Its vectors are this wide, its instructions are these.
  if (isa == Isa::avx512) return runs_here(Isa::avx2);
#endif
  return runs_here(isa);
}

namespace {

struct Totals {
  int ok = 0;
  int failed = 0;
  int skipped = 0;
};

void check_kernels(Effort effort, Totals& totals) {
  for (const Variant& variant : variants()) {
    if (!can_run(variant.isa)) {
      std::printf("skip %s: this processor lacks %s\n", variant.name, name_of(variant.isa));
      ++totals.skipped;
      continue;
    }
    std::fflush(stdout);
    name_faults(variant.name);
    Report report;
    std::visit([&](const auto& kernel) { check(kernel, effort, report); }, variant.kernel);
    if (report.failed()) {
      std::printf("FAIL %s: %s\n", variant.name, report.failure().c_str());
      ++totals.failed;
    } else {
      std::printf("ok %s (%zu cases, digest %016llx)\n", variant.name, report.cases(),
                  static_cast<unsigned long long>(report.digest()));
      ++totals.ok;
    }
  }
}

void check_checks(Totals& totals) {
  for (const WrongKernel& wrong : wrong_kernels()) {
    std::fflush(stdout);
    name_faults(wrong.what.c_str());
    Report report;
    wrong.check(report);
    if (report.failed()) {
      std::printf("ok refused: %s (%s)\n", wrong.what.c_str(), report.failure().c_str());
      ++totals.ok;
    } else {
      std::printf("FAIL not refused: %s\n", wrong.what.c_str());
      ++totals.failed;
    }
  }
}

}  // namespace

}  // namespace uhop::check

int main(int argc, char** argv) {
  using namespace uhop::check;
  const bool brief = argc == 2 && std::strcmp(argv[1], "--brief") == 0;
  if (argc > 1 && !brief) {
    std::fprintf(stderr, "usage: native-tests [--brief]\n");
    return 2;
  }
  Totals totals;
  check_kernels(brief ? Effort::brief : Effort::full, totals);
  check_checks(totals);
  std::printf("%d ok, %d failed, %d skipped\n", totals.ok, totals.failed, totals.skipped);
  return totals.failed > 0 ? 1 : 0;
}
