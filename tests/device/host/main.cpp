// SPDX-License-Identifier: MIT
#include "check.h"

int main()
{
    return host::run_tests();
}
