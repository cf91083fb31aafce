/* A CUDA driver whose GPU is this machine's own memory. What it pretends is set by FAKE_CUDA, a list like
 * "version=12040,capability=90,init=100,devices=0,memory=1000000". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API
#endif

static long knob(const char *name, long otherwise) {
    const char *list = getenv("FAKE_CUDA");
    size_t length = strlen(name);
    while (list && *list) {
        if (!strncmp(list, name, length) && list[length] == '=') return strtol(list + length + 1, NULL, 10);
        list = strchr(list, ',');
        if (list) list++;
    }
    return otherwise;
}

static size_t used;
static int failure; /* Set by the fake cuDNN when a kernel "crashes". */
API void fakeBreakContext(int code) { failure = code; }

API int cuDriverGetVersion(int *version) { *version = (int)knob("version", 13000); return 0; }
API int cuInit(unsigned flags) { (void)flags; return (int)knob("init", 0); }
API int cuDeviceGetCount(int *count) { *count = (int)knob("devices", 1); return 0; }
API int cuDeviceGet(int *device, int number) { *device = number; return 0; }
API int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    snprintf(name, (size_t)size, "Fake GPU");
    return 0;
}
API int cuDeviceGetAttribute(int *value, int which, int device) {
    long capability = knob("capability", 90);
    (void)device;
    *value = which == 75 ? (int)(capability / 10) : which == 76 ? (int)(capability % 10) : 4;
    return 0;
}
API int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    *context = &used;
    return (int)knob("context", 0);
}
API int cuCtxSetCurrent(void *context) { (void)context; return 0; }
API int cuCtxSynchronize(void) { return failure; }
API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    *total = (size_t)knob("memory", 1 << 30);
    *free_bytes = *total - used;
    return 0;
}
API int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    if (used + bytes > (size_t)knob("memory", 1 << 30)) return 2;
    size_t *block = malloc(bytes + 64);
    if (!block) return 2;
    used += *block = bytes;
    *address = (uint64_t)(uintptr_t)((char *)block + 64);
    return 0;
}
API int cuMemFree_v2(uint64_t address) {
    size_t *block = (size_t *)((char *)(uintptr_t)address - 64);
    used -= *block;
    free(block);
    return 0;
}
API int cuMemAllocHost_v2(void **start, size_t bytes) { return (*start = malloc(bytes)) ? 0 : 2; }
API int cuMemFreeHost(void *start) { free(start); return 0; }
API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return failure;
}
API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return failure;
}
API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return failure;
}
API int cuMemsetD32_v2(uint64_t address, unsigned pattern, size_t count) {
    uint32_t *words = (uint32_t *)(uintptr_t)address;
    for (size_t i = 0; i < count; i++) words[i] = pattern;
    return failure;
}
API int cuEventCreate(void **event, unsigned flags) {
    (void)flags;
    return (*event = calloc(1, sizeof(struct timespec))) ? 0 : 2;
}
API int cuEventRecord(void *event, void *stream) {
    (void)stream;
    timespec_get(event, TIME_UTC);
    return failure;
}
API int cuEventSynchronize(void *event) { (void)event; return failure; }
API int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
    struct timespec *a = from, *b = to;
    *milliseconds = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) / 1e6);
    return failure;
}
API int cuEventDestroy_v2(void *event) { free(event); return 0; }
