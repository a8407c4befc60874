/* SPDX-License-Identifier: MIT */
/*
 * What a program registers before main: its fatbins, and the addresses on the host that
 * stand for kernels and variables. A fatbin is loaded into a context at the first use
 * there.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/compiler.h"
#include "cudart/runtime.h"

struct module {
    CUcontext context;
    CUmodule module;
    struct module *next;
};

struct binary {
    const void *fatbin;
    struct module *modules;
    const char *refused; /* a managed variable, of which there are none here, or NULL */
};

struct symbol {
    const void *host;
    const char *name; /* the program's */
    struct binary *binary;
    size_t bytes; /* of a variable; of a kernel 0 */
    struct symbol *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct symbol *symbols;

/* ------------------------------------------------------------------------ registration */

static void add_symbol(struct binary *binary, const void *host, const char *name,
                       size_t bytes)
{
    struct symbol *symbol = malloc(sizeof(*symbol));
    if (symbol == NULL) {
        abort(); /* before main there is nobody to tell */
    }
    pthread_mutex_lock(&lock);
    *symbol = (struct symbol){host, name, binary, bytes, symbols};
    symbols = symbol;
    pthread_mutex_unlock(&lock);
}

RT_EXPORT void **__cudaRegisterFatBinary(void *fatCubin)
{
    struct binary *binary = calloc(1, sizeof(*binary));
    if (binary == NULL) {
        abort();
    }
    binary->fatbin = fatCubin;
    return (void **)binary;
}

RT_EXPORT void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
    (void)fatCubinHandle;
}

/* At the program's end, when the driver may be gone: its modules are left to it. */
RT_EXPORT void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
    struct binary *binary = (struct binary *)fatCubinHandle;
    pthread_mutex_lock(&lock);
    for (struct symbol **at = &symbols; *at != NULL;) {
        struct symbol *symbol = *at;
        if (symbol->binary == binary) {
            *at = symbol->next;
            free(symbol);
        } else {
            at = &symbol->next;
        }
    }
    while (binary->modules != NULL) {
        struct module *module = binary->modules;
        binary->modules = module->next;
        free(module);
    }
    pthread_mutex_unlock(&lock);
    free(binary);
}

/* NOLINTBEGIN(readability-non-const-parameter): as nvcc calls them */
RT_EXPORT void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun,
                                      char *deviceFun, const char *deviceName,
                                      int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim,
                                      dim3 *gDim, int *wSize)
{
    (void)deviceFun, (void)thread_limit, (void)tid, (void)bid, (void)bDim, (void)gDim,
        (void)wSize;
    add_symbol((struct binary *)fatCubinHandle, hostFun, deviceName, 0);
}

RT_EXPORT void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                                 const char *deviceName, int ext, size_t size, int constant,
                                 int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    add_symbol((struct binary *)fatCubinHandle, hostVar, deviceName, size);
}

RT_EXPORT void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
                                        char *deviceAddress, const char *deviceName,
                                        int ext, size_t size, int constant, int global)
{
    (void)hostVarPtrAddress, (void)deviceAddress, (void)ext, (void)size, (void)constant,
        (void)global;
    ((struct binary *)fatCubinHandle)->refused = deviceName;
}

/* NOLINTEND(readability-non-const-parameter) */

RT_EXPORT char __cudaInitModule(void **fatCubinHandle)
{
    return ((struct binary *)fatCubinHandle)->refused == NULL ? 1 : 0;
}

/* ----------------------------------------------------------------------------- look-up */

/* Under the lock. A handle of a kernel is its symbol. */
static struct symbol *find_symbol(const void *host, bool is_variable)
{
    for (struct symbol *symbol = symbols; symbol != NULL; symbol = symbol->next) {
        if ((symbol->host == host || symbol == host) &&
            (symbol->bytes != 0) == is_variable) {
            return symbol;
        }
    }
    return NULL;
}

/* Under the lock. */
static CUresult load(struct binary *binary, CUcontext context, CUmodule *ret_module)
{
    for (struct module *at = binary->modules; at != NULL; at = at->next) {
        if (at->context == context) {
            *ret_module = at->module;
            return CUDA_SUCCESS;
        }
    }
    if (binary->refused != NULL) {
        rt_refuse(cudaErrorNotSupported, "the managed variable %s is not supported",
                  binary->refused);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    struct module *module = malloc(sizeof(*module));
    if (module == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const CUresult result = cuModuleLoadData(ret_module, binary->fatbin);
    if (result != CUDA_SUCCESS) {
        free(module);
        return result;
    }
    *module = (struct module){context, *ret_module, binary->modules};
    binary->modules = module;
    return CUDA_SUCCESS;
}

/* Where a symbol is in the current context; without a name: there is no such symbol. */
struct place {
    const char *name;
    CUmodule module;
};

static CUresult find_place(const void *host, bool is_variable, struct place *ret_place)
{
    CUcontext context = NULL;
    struct place place = {0};
    CUresult result = rt_enter_context(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&lock);
    const struct symbol *symbol = find_symbol(host, is_variable);
    if (symbol != NULL) {
        place.name = symbol->name;
        result = load(symbol->binary, context, &place.module);
    }
    pthread_mutex_unlock(&lock);
    *ret_place = place;
    return result;
}

CUresult rt_find_function(const void *host, CUfunction *ret_function)
{
    struct place place;
    const CUresult result = find_place(host, false, &place);
    if (result == CUDA_SUCCESS && place.name == NULL) {
        /* A handle of the driver: it looks at it itself. */
        *ret_function = (CUfunction)host;
        return result;
    }
    return result == CUDA_SUCCESS
               ? cuModuleGetFunction(ret_function, place.module, place.name)
               : result;
}

CUresult rt_find_variable(const void *host, CUdeviceptr *ret_address, size_t *ret_bytes)
{
    struct place place;
    const CUresult result = find_place(host, true, &place);
    if (result == CUDA_SUCCESS && place.name == NULL) {
        return (CUresult)cudaErrorInvalidSymbol;
    }
    return result == CUDA_SUCCESS
               ? cuModuleGetGlobal(ret_address, ret_bytes, place.module, place.name)
               : result;
}

void rt_forget_context(CUcontext context)
{
    pthread_mutex_lock(&lock);
    for (struct symbol *symbol = symbols; symbol != NULL; symbol = symbol->next) {
        for (struct module **at = &symbol->binary->modules; *at != NULL;) {
            struct module *module = *at;
            if (module->context == context) {
                *at = module->next;
                free(module);
            } else {
                at = &module->next;
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

/* --------------------------------------------------------------------- what is exported */

RT_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *hostFun)
{
    if (kernel == NULL) {
        return rt_keep(CUDA_ERROR_INVALID_VALUE);
    }
    pthread_mutex_lock(&lock);
    struct symbol *symbol = find_symbol(hostFun, false);
    pthread_mutex_unlock(&lock);
    *kernel = (cudaKernel_t)symbol;
    return symbol != NULL ? cudaSuccess : rt_keep((CUresult)cudaErrorInvalidDeviceFunction);
}

RT_EXPORT cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    return __cudaGetKernel(kernelPtr, entryFuncAddr);
}

RT_EXPORT cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr,
                                          const void *symbolPtr)
{
    return rt_keep(rt_find_function(symbolPtr, functionPtr));
}

RT_EXPORT cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    const CUresult result = devPtr == NULL ? CUDA_ERROR_INVALID_VALUE
                                           : rt_find_variable(symbol, &address, &bytes);
    if (result == CUDA_SUCCESS) {
        memcpy(devPtr, &address, sizeof(*devPtr));
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address = 0;
    return rt_keep(size == NULL ? CUDA_ERROR_INVALID_VALUE
                                : rt_find_variable(symbol, &address, size));
}

/* Libraries are the driver's; so are their kernels. */
RT_EXPORT cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                          enum cudaJitOption *jitOptions,
                                          void **jitOptionsValues,
                                          unsigned int numJitOptions,
                                          enum cudaLibraryOption *libraryOptions,
                                          void **libraryOptionValues,
                                          unsigned int numLibraryOptions)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS
                       ? cuLibraryLoadData((CUlibrary *)library, code,
                                           (CUjit_option *)jitOptions, jitOptionsValues,
                                           numJitOptions, (CUlibraryOption *)libraryOptions,
                                           libraryOptionValues, numLibraryOptions)
                       : result);
}

RT_EXPORT cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return rt_keep(cuLibraryUnload((CUlibrary)library));
}

RT_EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                           const char *name)
{
    return rt_keep(cuLibraryGetKernel((CUkernel *)pKernel, (CUlibrary)library, name));
}
