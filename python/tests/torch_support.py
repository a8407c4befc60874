# SPDX-License-Identifier: MIT
"""What the tests of the operator share: torch, in an interpreter that has it, and where its tensors are.

With a GPU that torch sees all of them run there; without one on tensors of the host and the
emulator. JIT_GEMM_TEST_DEVICE=emulator takes the emulator beside a GPU, too.
"""

import os

from support import optional, prefer_torch

prefer_torch()
torch = optional("torch")
ON_GPU = (
    torch is not None
    and torch.cuda.is_available()
    and os.environ.get("JIT_GEMM_TEST_DEVICE") != "emulator"
)
DEVICE = "cuda" if ON_GPU else "cpu"
WHERE = {} if ON_GPU else {"device": "emulator"}
