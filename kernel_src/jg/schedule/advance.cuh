// SPDX-License-Identifier: MIT
#pragma once

namespace jg {

// When a work iterator waits for its next item: see scheduler_for.cuh.
enum class Advance { kNow, kDelayed };

} // namespace jg
