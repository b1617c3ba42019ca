/* A stand-in for NVIDIA's libnvidia-ml.so.1, for tests of the real ctypes path.
 * The environment says what it answers:
 *   NVML_CARDS     how many cards there are (default 1)
 *   NVML_INIT      what nvmlInit returns (9: the driver is not loaded)
 *   NVML_USED_MB   memory in use, of 8192
 *   NVML_MIG       into how many MIG devices each card is cut
 * What it does not define is a function that an old driver does not have. */
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned gpu, memory; } rates_t;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process_t;

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

/* A card is its number and 1, a MIG device has 100 added. */
static int is_mig(void *device) { return (long)device >= 100; }

int nvmlInitWithFlags(unsigned flags) { return number("NVML_INIT", 0); }
int nvmlInit_v2(void) { return number("NVML_INIT", 0); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "as the test wanted"; }

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    strncpy(text, "590.44.01", length);
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned *count) { *count = number("NVML_CARDS", 1); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(long)(index + 1);
    return 0;
}
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    *current = *pending = number("NVML_MIG", 0) > 0;
    return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) { *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig) {
    if ((int)index >= number("NVML_MIG", 0)) return 6; /* not found */
    *mig = (void *)(long)(100 + index);
    return 0;
}
int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    strncpy(name, is_mig(device) ? "Pretend 9000 MIG 1g.1gb" : "Pretend 9000", length);
    return 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned length) {
    strncpy(text, is_mig(device) ? "MIG-1234" : "GPU-1234", length);
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, memory_t *memory) {
    memory->total = (is_mig(device) ? 1024ULL : 8192ULL) << 20;
    memory->used = (unsigned long long)number("NVML_USED_MB", 512) << 20;
    memory->free = memory->total - memory->used;
    return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void *device, memory_v2_t *memory) {
    memory->total = (is_mig(device) ? 1024ULL : 8192ULL) << 20;
    memory->reserved = 100ULL << 20;
    memory->used = (unsigned long long)number("NVML_USED_MB", 512) << 20;
    memory->free = memory->total - memory->reserved - memory->used;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, rates_t *rates) {
    if (is_mig(device)) return 3; /* not supported */
    rates->gpu = 87;
    rates->memory = 40;
    return 0;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees) {
    if (is_mig(device)) return 3;
    *degrees = 64;
    return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    if (is_mig(device)) return 3;
    *milliwatts = 120500;
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    *major = number("NVML_MAJOR", 8);
    *minor = 6;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process_t *processes) {
    if (*count < 2) {
        *count = 2;
        return 7; /* insufficient size */
    }
    *count = 2;
    processes[0] = (process_t){4711, 300ULL << 20, 0, 0};
    processes[1] = (process_t){4712, ~0ULL, 0, 0}; /* not available */
    return 0;
}
