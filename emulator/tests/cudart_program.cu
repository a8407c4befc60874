// SPDX-License-Identifier: MIT
// A CUDA program as anybody writes it; nothing in it knows of the emulator.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error = (call);                                                      \
        if (error != cudaSuccess) {                                                      \
            printf("%s: %s\n", #call, cudaGetErrorString(error));                        \
            return 1;                                                                    \
        }                                                                                \
    } while (0)

constexpr int count = 1000;
__constant__ float scale[4];
__device__ int added;

template <typename T>
__global__ void axpy(int n, T a, const T *x, T *y)
{
    extern __shared__ T part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    part[threadIdx.x] = x[i];
    y[i] = a * part[threadIdx.x] + y[i] * T(scale[3]);
    atomicAdd(&added, 1);
}

// The sum over a warp whose lanes beyond n have left.
__global__ void sum(int n, const float *x, float *total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float value = x[i];
    unsigned here = __ballot_sync(0xffffffff, true);
    for (int distance = 16; distance > 0; distance /= 2) {
        float other = __shfl_down_sync(0xffffffff, value, distance);
        if ((here >> (threadIdx.x % 32 + distance) & 1) != 0 &&
            threadIdx.x % 32 + distance < 32) {
            value += other;
        }
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(total, value);
    }
}

int main()
{
    static float host[count];
    const float scales[4] = {0, 0, 0, 2};
    float *x = nullptr, *y = nullptr, *total = nullptr;
    int number = 0, blocks = 0;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float milliseconds = -1;
    for (int i = 0; i < count; i++) {
        host[i] = float(i);
    }
    CHECK(cudaMalloc(&x, sizeof(host)));
    CHECK(cudaMalloc(&y, sizeof(host)));
    CHECK(cudaMallocManaged(&total, sizeof(float)));
    *total = 0;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMemcpyToSymbol(scale, scales, sizeof(scales)));
    CHECK(cudaMemcpyAsync(x, host, sizeof(host), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(y, host, sizeof(host), cudaMemcpyHostToDevice, stream));
    CHECK(cudaFuncSetAttribute(axpy<float>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               100 << 10));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy<float>, 128, 100 << 10));
    CHECK(cudaEventRecord(begin, stream));
    axpy<<<(count + 127) / 128, 128, 100 << 10, stream>>>(count, 3.0f, x, y);
    CHECK(cudaGetLastError());
    sum<<<(count + 127) / 128, 128, 0, stream>>>(count, y, total);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CHECK(cudaMemcpy(host, y, sizeof(host), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&number, added, sizeof(number)));
    axpy<<<1, 2048>>>(count, 3.0f, x, y);
    const cudaError_t refused = cudaGetLastError();
    printf("y[999]=%g added=%d total=%g blocks=%d time=%s 2048: %s\n", host[999], number,
           *total, blocks, milliseconds >= 0 ? "yes" : "no", cudaGetErrorName(refused));
    CHECK(cudaFree(total));
    CHECK(cudaFree(y));
    CHECK(cudaFree(x));
    return 0;
}
