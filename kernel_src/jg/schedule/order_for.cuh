// SPDX-License-Identifier: MIT
// OrderFor: which list of all work a kernel has. A unit with groups includes the file of
// theirs.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/schedule/tile_order.cuh>

namespace jg {

template <class Config>
class GroupedTileOrder; // grouped_tile_order.cuh
template <class Config>
class RowBlockTileOrder; // row_block_tile_order.cuh

// The list of a kernel with groups.
template <class Config, GroupBy kBy = Config::kGroupBy>
struct GroupOrderFor {
    using Type = GroupedTileOrder<Config>;
};
template <class Config>
struct GroupOrderFor<Config, GroupBy::kRows> {
    using Type = RowBlockTileOrder<Config>;
};

// The list that a kernel has.
template <class Config, bool kHasGroups = (Config::kGroups > 0)>
struct OrderFor {
    using Type = typename GroupOrderFor<Config>::Type;
};
template <class Config>
struct OrderFor<Config, false> {
    using Type = TileOrder<Config>;
};

} // namespace jg
