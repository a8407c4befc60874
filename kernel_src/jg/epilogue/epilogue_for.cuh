// SPDX-License-Identifier: MIT
// EpilogueFor: which of the two ways out a kernel takes. The plan decides
// (lib/plan/output.c), and Config says it.
#pragma once
#include <jg/epilogue/fragment_epilogue.cuh>
#include <jg/epilogue/vector_epilogue.cuh>

namespace jg {

enum class EpilogueKind { kFragments, kVectors };

template <class Config, class Epilogue, class Partition>
struct EpilogueFor {
    static_assert(check_partition<Partition>(), "see check_partition");
    using Type = typename Select<Config::kEpilogue == EpilogueKind::kFragments,
                                 FragmentEpilogue<Config, Epilogue, Partition>,
                                 VectorEpilogue<Config, Epilogue, Partition>>::Type;
};

} // namespace jg
