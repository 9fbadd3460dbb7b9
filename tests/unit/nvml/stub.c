/* Copyright (c) 2026, gpufleet authors
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A libnvidia-ml.so for tests. It answers from a text file, named by NVML_STUB_TABLE, with lines "GPU.name=value" in NVML's own units
 * ("0.mig.1.name=..." for MIG devices, "system.name=..." for the rest). What isn't there is not supported.
 * NVML_STUB_FAIL is a list "function=code", or "function@GPU=code", with commas; NVML_STUB_HANG names a function that never returns.
 * Compiled with -DOLD it has only what an old driver had.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int uint;
typedef unsigned long long u64;
typedef struct { char bus_id_legacy[16]; uint domain, bus, device, pci_device_id, pci_subsystem_id; char bus_id[32]; } pci_info;
typedef struct { u64 total, free, used; } memory;
typedef struct { uint version; u64 total, reserved, free, used; } memory_v2;
typedef struct { uint version; int sensor, temperature; } temperature_v;
typedef struct { uint version; int margin; } margin;
typedef struct { unsigned char cluster[16]; int status; uint clique; unsigned char state; } fabric;
typedef struct { uint version; unsigned char cluster[16]; int status; uint clique; unsigned char state; uint health; } fabric_v2;
typedef struct { uint pid; u64 used; uint gpu_instance, compute_instance; } process;
typedef struct { uint id, scope; long long timestamp, latency; uint type; int code; union { double d; uint u; u64 ull; } value; } field;
typedef struct { uint year; unsigned short month, day, hour, min, sec; unsigned char status; } expiry;
typedef struct { int code; uint state; char license[128], product[128]; uint enabled; expiry until; } feature;
typedef struct { int supported; uint count; feature features[3]; } features;

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, VERSION_MISMATCH = 25 };

/* A handle is the number of the GPU and, in the next byte, of the MIG device, each plus one. */
typedef void *device;
static int gpu_of(device handle) { return (int)((size_t)handle & 0xff) - 1; }
static int mig_of(device handle) { return (int)((size_t)handle >> 8) - 1; }

static char *look_up(const char *prefix, const char *name) {
    static char line[4096];
    char key[256];
    const char *path = getenv("NVML_STUB_TABLE");
    FILE *table = path ? fopen(path, "r") : NULL;
    char *found = NULL;
    snprintf(key, sizeof key, "%s.%s=", prefix, name);
    while (table && !found && fgets(line, sizeof line, table)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, key, strlen(key))) found = line + strlen(key);
    }
    if (table) fclose(table);
    return found;
}

static char *of_device(device handle, const char *name) {
    char prefix[64];
    if (mig_of(handle) < 0) snprintf(prefix, sizeof prefix, "%d", gpu_of(handle));
    else snprintf(prefix, sizeof prefix, "%d.mig.%d", gpu_of(handle), mig_of(handle));
    return look_up(prefix, name);
}

static int fault(const char *function, int gpu) {
    const char *hang = getenv("NVML_STUB_HANG"), *list = getenv("NVML_STUB_FAIL");
    char copy[1024], exact[128], *entry, *rest = copy;
    if (hang && !strcmp(hang, function)) for (;;) sleep(1000);
    snprintf(copy, sizeof copy, "%s", list ? list : "");
    snprintf(exact, sizeof exact, "%s@%d", function, gpu);
    while ((entry = strtok_r(rest, ",", &rest))) {
        char *code = strchr(entry, '=');
        if (!code) continue;
        *code = 0;
        if (!strcmp(entry, function) || !strcmp(entry, exact) || !strcmp(entry, "*")) return atoi(code + 1);
    }
    return SUCCESS;
}

#define FAULT(gpu) do { int code = fault(__func__, gpu); if (code) return code; } while (0)
#define FIND(name) char *found; FAULT(gpu_of(handle)); found = of_device(handle, name); if (!found) return NOT_SUPPORTED

#define TEXT(function, name) \
    int function(device handle, char *text, uint length) { FIND(name); snprintf(text, length, "%s", found); return SUCCESS; }
#define UINT(function, name) \
    int function(device handle, uint *value) { FIND(name); *value = (uint)strtoul(found, NULL, 0); return SUCCESS; }
#define PAIR(function, name) \
    int function(device handle, uint *one, uint *two) { FIND(name); return sscanf(found, "%u %u", one, two) == 2 ? SUCCESS : INVALID_ARGUMENT; }
#define CHOICE(function, name) \
    int function(device handle, uint which, uint *value) { \
        char key[64]; snprintf(key, sizeof key, name ".%u", which); \
        { FIND(key); *value = (uint)strtoul(found, NULL, 0); } return SUCCESS; }
#define REASONS(function) \
    int function(device handle, u64 *value) { FIND("throttle_reasons"); *value = strtoull(found, NULL, 0); return SUCCESS; }
#define PROCESSES(function, name) \
    int function(device handle, uint *count, process *list) { \
        uint number = 0; char *entry; FIND(name); \
        for (entry = strtok(found, ";"); entry && number < *count; entry = strtok(NULL, ";"), number++) { \
            list[number].gpu_instance = list[number].compute_instance = 0xffffffff; \
            sscanf(entry, "%u %llu", &list[number].pid, &list[number].used); } \
        *count = number; return SUCCESS; }
#define SYSTEM_TEXT(function, name) \
    int function(char *text, uint length) { char *found; FAULT(-1); found = look_up("system", name); \
        if (!found) return NOT_SUPPORTED; \
        snprintf(text, length, "%s", found); return SUCCESS; }
#define SYSTEM_INT(function, name) \
    int function(int *value) { char *found; FAULT(-1); found = look_up("system", name); \
        if (!found) return NOT_SUPPORTED; \
        *value = atoi(found); return SUCCESS; }
#define INIT(function) int function(void) { FAULT(-1); return SUCCESS; }
#define COUNT(function) int function(uint *count) { FAULT(-1); *count = (uint)atoi(look_up("system", "gpus")); return SUCCESS; }
#define HANDLE(function) \
    int function(uint index, device *handle) { FAULT((int)index); *handle = (device)(size_t)(index + 1); return SUCCESS; }
#define PCI(function) \
    int function(device handle, pci_info *info) { FIND("pci"); memset(info, 0, sizeof *info); \
        sscanf(found, "%x:%x:%x", &info->domain, &info->bus, &info->device); return SUCCESS; }

static const char *const texts[] = {
    "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions", "Already Initialized", "Not Found", "Insufficient Size",
    "Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found",
    "Corrupted infoROM", "GPU is lost", "GPU requires reset", "GPU access blocked by the operating system", "Driver/library version mismatch",
    "In use by another client", "Insufficient Memory", "No data", "vGPU with ECC not supported", "Insufficient Resources",
};
const char *nvmlErrorString(int code) { return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : "Unknown Error"; }

INIT(nvmlInit)
COUNT(nvmlDeviceGetCount)
HANDLE(nvmlDeviceGetHandleByIndex)
PCI(nvmlDeviceGetPciInfo)
SYSTEM_TEXT(nvmlSystemGetDriverVersion, "driver_version")
SYSTEM_INT(nvmlSystemGetCudaDriverVersion, "cuda_version")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
UINT(nvmlDeviceGetMinorNumber, "minor")
UINT(nvmlDeviceGetBrand, "brand")
UINT(nvmlDeviceGetPowerUsage, "power")
UINT(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
UINT(nvmlDeviceGetPowerManagementDefaultLimit, "power_default")
UINT(nvmlDeviceGetPerformanceState, "pstate")
UINT(nvmlDeviceGetPersistenceMode, "persistence")
UINT(nvmlDeviceGetComputeMode, "compute_mode")
UINT(nvmlDeviceGetVirtualizationMode, "virtualization")
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power_limits")
PAIR(nvmlDeviceGetEccMode, "ecc")
CHOICE(nvmlDeviceGetClockInfo, "clock")
CHOICE(nvmlDeviceGetMaxClockInfo, "max_clock")
CHOICE(nvmlDeviceGetTemperature, "temperature")
CHOICE(nvmlDeviceGetTemperatureThreshold, "threshold")
REASONS(nvmlDeviceGetCurrentClocksThrottleReasons)

int nvmlDeviceGetMemoryInfo(device handle, memory *info) {
    u64 reserved;
    FIND("memory");
    sscanf(found, "%llu %llu %llu", &info->total, &reserved, &info->used);
    info->used += reserved;
    info->free = info->total - info->used;
    return SUCCESS;
}

int nvmlDeviceGetBAR1MemoryInfo(device handle, memory *info) {
    FIND("bar1");
    info->total = strtoull(found, NULL, 0);
    return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(device handle, uint type, uint counter, u64 *count) {
    char key[64];
    snprintf(key, sizeof key, "ecc_errors.%u.%u", type, counter);
    { FIND(key); *count = strtoull(found, NULL, 0); }
    return SUCCESS;
}

int nvmlSystemGetProcessName(uint pid, char *name, uint length) {
    char key[64], *found;
    FAULT(-1);
    snprintf(key, sizeof key, "process.%u", pid);
    found = look_up("system", key);
    if (!found) return NOT_FOUND;
    snprintf(name, length, "%s", found);
    return SUCCESS;
}

#ifndef OLD
INIT(nvmlInit_v2)
COUNT(nvmlDeviceGetCount_v2)
HANDLE(nvmlDeviceGetHandleByIndex_v2)
PCI(nvmlDeviceGetPciInfo_v3)
SYSTEM_INT(nvmlSystemGetCudaDriverVersion_v2, "cuda_version")
UINT(nvmlDeviceGetArchitecture, "architecture")
UINT(nvmlDeviceGetMaxMigDeviceCount, "max_mig")
UINT(nvmlDeviceGetGpuInstanceId, "gpu_instance")
UINT(nvmlDeviceGetComputeInstanceId, "compute_instance")
PAIR(nvmlDeviceGetMigMode, "mig_mode")
PAIR(nvmlDeviceGetCudaComputeCapability, "compute_capability")
CHOICE(nvmlDeviceGetNvLinkState, "nvlink")
REASONS(nvmlDeviceGetCurrentClocksEventReasons)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "compute_processes")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics_processes")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps_processes")

int nvmlDeviceGetMemoryInfo_v2(device handle, memory_v2 *info) {
    FIND("memory");
    if (info->version != (sizeof *info | 2u << 24)) return VERSION_MISMATCH;
    sscanf(found, "%llu %llu %llu", &info->total, &info->reserved, &info->used);
    return SUCCESS;
}

int nvmlDeviceGetTemperatureV(device handle, temperature_v *info) {
    FIND("temperature.0");
    if (info->version != (sizeof *info | 1u << 24) || info->sensor) return VERSION_MISMATCH;
    info->temperature = atoi(found);
    return SUCCESS;
}

int nvmlDeviceGetMarginTemperature(device handle, margin *info) {
    FIND("margin");
    if (info->version != (sizeof *info | 1u << 24)) return VERSION_MISMATCH;
    info->margin = atoi(found);
    return SUCCESS;
}

int nvmlDeviceGetRemappedRows(device handle, uint *correctable, uint *uncorrectable, uint *pending, uint *failed) {
    FIND("remapped_rows");
    return sscanf(found, "%u %u %u %u", correctable, uncorrectable, pending, failed) == 4 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetFieldValues(device handle, int count, field *values) {
    FAULT(gpu_of(handle));
    for (int number = 0; number < count; number++) {
        char key[64], *found;
        snprintf(key, sizeof key, "field.%u", values[number].id);
        found = of_device(handle, key);
        values[number].code = found ? SUCCESS : NOT_SUPPORTED;
        values[number].type = 1;
        values[number].value.u = found ? (uint)strtoul(found, NULL, 0) : 0;
    }
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(device handle, uint index, device *mig) {
    device wanted = (device)((size_t)handle | (size_t)(index + 1) << 8);
    FAULT(gpu_of(handle));
    if (!of_device(wanted, "uuid")) return NOT_FOUND;
    *mig = wanted;
    return SUCCESS;
}

int nvmlDeviceGetGpuFabricInfoV(device handle, fabric_v2 *info) {
    uint state, status;
    FIND("fabric");
    if (info->version != (sizeof *info | 2u << 24)) return VERSION_MISMATCH;
    sscanf(found, "%u %u %u", &state, &status, &info->clique);
    info->state = (unsigned char)state;
    info->status = (int)status;
    memset(info->cluster, 0, sizeof info->cluster);
    return SUCCESS;
}

int nvmlDeviceGetGridLicensableFeatures_v4(device handle, features *info) {
    FIND("license");
    memset(info, 0, sizeof *info);
    info->supported = info->count = info->features[0].enabled = 1;
    info->features[0].state = (uint)atoi(found);
    return SUCCESS;
}
#endif
