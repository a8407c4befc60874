// SPDX-License-Identifier: MIT
// What the plan chose by name: values of Config's constants (lib/source/assemble.c).
#pragma once

namespace jg {

// How the clusters of a grid share its tiles: see schedule/scheduler_for.cuh.
enum class SchedulerKind { kSingle, kStatic, kClc };

// The operand whose first blocks are prefetched: see tile/tile_loader.cuh.
enum class Prefetch { kNone, kA, kB };

} // namespace jg
