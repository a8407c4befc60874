// SPDX-License-Identifier: MIT
// HeldStages: stages of a ring in the hands of one side. They go back when the scope ends,
// or at release(), so that no way through the code forgets one or gives one back twice.
//
// View is one side of a ring. HeldStages needs of it
//   u32 wait()               blocks until the next stage is this side's, and returns it
//   void release(u32)        hands it to the other side: a producer commits it
// Called by: whoever calls the view.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// Says that none is taken yet.
struct HoldNothing {};
// Says that the next one need not be waited for.
struct HoldSeen {};

// The first kOptional of the stages are only taken where that is asked for.
template <class View, u32 kCount = 1, u32 kOptional = 0>
class HeldStages {
  public:
    JG_DEVICE explicit HeldStages(View &view, bool with_optional = true)
        : view_(view), with_optional_(with_optional), held_(true)
    {
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            if (has(i)) {
                stages_[i] = view.wait();
            }
        }
    }
    JG_DEVICE HeldStages(View &view, HoldNothing)
        : view_(view), with_optional_(true), held_(false)
    {
    }
    JG_DEVICE HeldStages(View &view, HoldSeen)
        : view_(view), with_optional_(true), held_(true)
    {
        static_assert(kCount == 1, "one is seen");
        stages_[0] = view.take_seen();
    }
    HeldStages(const HeldStages &) = delete;
    HeldStages &operator=(const HeldStages &) = delete;
    JG_DEVICE ~HeldStages()
    {
        release();
    }

    // Is stage number `i` one of them?
    JG_DEVICE bool has(u32 i) const
    {
        return i + 1 > kOptional || with_optional_; // kOptional may be 0
    }
    // Which one of the ring it is.
    JG_DEVICE u32 index(u32 i = 0) const
    {
        return stages_[i];
    }

    // Before the scope ends.
    JG_DEVICE void release()
    {
        if (held_) {
#pragma unroll
            for (u32 i = 0; i < kCount; ++i) {
                if (has(i)) {
                    view_.release(stages_[i]);
                }
            }
        }
        held_ = false;
    }

    // Gives back what it holds, and holds what `other` held.
    JG_DEVICE void replace_by(HeldStages &other)
    {
        release();
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            stages_[i] = other.stages_[i];
        }
        with_optional_ = other.with_optional_;
        held_ = other.held_;
        other.held_ = false;
    }

  private:
    View &view_;
    u32 stages_[kCount];
    bool with_optional_, held_;
};

// None at all.
template <class View>
class HeldStages<View, 0, 0> {
  public:
    JG_DEVICE explicit HeldStages(View &, bool = true) {}
};

} // namespace jg
