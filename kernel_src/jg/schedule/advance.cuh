// SPDX-License-Identifier: MIT
#pragma once

namespace jg {

// When a walk over tiles waits for its next one: see scheduler_for.cuh.
enum class Advance { kNow, kDelayed };

} // namespace jg
