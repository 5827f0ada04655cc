#pragma once
#include "../cpu/variants.h"

namespace uhop {

/** Whether this processor has the instruction set and its operating system saves the registers of it. */
bool runs_here(Isa isa);

}  // namespace uhop
