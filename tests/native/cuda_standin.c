/* A libcuda.so.1 for hosts without a driver: version, start, and what a device is. It answers from the same profile as NVML.
 *
 * [system] libcuda = 12040 (else `cuda`, which NVML reports too); error.cuInit = 802 plays a host whose fabric manager is stopped, 803
 * one whose library is newer than the module, 804 a compatibility library on a board that takes none, 100 one without a GPU.
 * [gpu] cuda_memory (else what NVML's total leaves after the reserved part), multiprocessors, and the keys of NVML.
 */
#include "profile.h"

#include <stdio.h>
#include <string.h>

enum {
    CUDA_OK = 0, CUDA_INVALID_VALUE = 1, CUDA_NOT_INITIALIZED = 3, CUDA_NO_DEVICE = 100, CUDA_INVALID_DEVICE = 101
};
enum { MULTIPROCESSORS = 16, PCI_BUS = 33, PCI_DEVICE = 34, PCI_DOMAIN = 50, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };

struct uuid { unsigned char bytes[16]; };

static int started;

static const struct { int code; const char *name, *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int give_error(int code, int wanted_name, const char **out)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *out = wanted_name ? errors[i].name : errors[i].text;
            return CUDA_OK;
        }
    *out = NULL;
    return CUDA_INVALID_VALUE;
}

int cuGetErrorName(int code, const char **name) { return give_error(code, 1, name); }

int cuGetErrorString(int code, const char **text) { return give_error(code, 0, text); }

int cuDriverGetVersion(int *version)
{
    if (version == NULL) return CUDA_INVALID_VALUE;
    if (!profile_load()) return CUDA_NO_DEVICE;
    int code = profile_obey(__func__);
    if (code != 0) return code;
    const char *own = profile_get("system", "libcuda");
    *version = (int)profile_number(own != NULL ? own : profile_get("system", "cuda"));
    return CUDA_OK;
}

int cuInit(unsigned int flags)
{
    if (flags != 0) return CUDA_INVALID_VALUE;
    int code = profile_load() ? profile_obey(__func__) : CUDA_NO_DEVICE;
    if (code == CUDA_OK && profile_number(profile_get("system", "gpus")) == 0) code = CUDA_NO_DEVICE;
    started = code == CUDA_OK;
    return code;
}

static int enter(const char *function) { return started ? profile_obey(function) : CUDA_NOT_INITIALIZED; }

static int enter_device(const char *function, int device)
{
    int code = enter(function);
    if (code != CUDA_OK) return code;
    if (device < 0 || device >= (int)profile_number(profile_get("system", "gpus"))) return CUDA_INVALID_DEVICE;
    return profile_obey_device(device, NO_MIG, function);
}

int cuDeviceGetCount(int *count)
{
    int code = enter(__func__);
    if (code == CUDA_OK) *count = (int)profile_number(profile_get("system", "gpus"));
    return code;
}

int cuDeviceGet(int *device, int ordinal)
{
    int code = enter_device(__func__, ordinal);
    if (code == CUDA_OK) *device = ordinal;
    return code;
}

int cuDeviceGetName(char *name, int size, int device)
{
    int code = enter_device(__func__, device);
    const char *value = code == CUDA_OK ? profile_of(device, NO_MIG, "name") : NULL;
    if (code == CUDA_OK && size > 0) snprintf(name, (size_t)size, "%s", value != NULL ? value : "");
    return code;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    int code = enter_device(__func__, device);
    if (code != CUDA_OK) return code;
    const char *own = profile_of(device, NO_MIG, "cuda_memory");
    unsigned long long left = profile_number(profile_of(device, NO_MIG, "memory_total"));
    left -= profile_number(profile_of(device, NO_MIG, "memory_reserved"));
    *bytes = (size_t)(own != NULL ? profile_number(profile_of(device, NO_MIG, "cuda_memory")) : left);
    return CUDA_OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    unsigned int pci[3] = {0}, capability[2] = {0};
    int code = enter_device(__func__, device);
    if (code != CUDA_OK) return code;
    const char *text = profile_of(device, NO_MIG, "pci");
    if (text != NULL) sscanf(text, "%x:%x:%x", &pci[0], &pci[1], &pci[2]);
    text = profile_of(device, NO_MIG, "cc");
    if (text != NULL) sscanf(text, "%u.%u", &capability[0], &capability[1]);
    switch (attribute) {
    case MULTIPROCESSORS: *value = (int)profile_number(profile_of(device, NO_MIG, "multiprocessors")); break;
    case PCI_DOMAIN: *value = (int)pci[0]; break;
    case PCI_BUS: *value = (int)pci[1]; break;
    case PCI_DEVICE: *value = (int)pci[2]; break;
    case CAPABILITY_MAJOR: *value = (int)capability[0]; break;
    case CAPABILITY_MINOR: *value = (int)capability[1]; break;
    default: return CUDA_INVALID_VALUE;
    }
    return CUDA_OK;
}

int cuDeviceGetUuid(struct uuid *uuid, int device)
{
    int code = enter_device(__func__, device);
    if (code != CUDA_OK) return code;
    const char *text = profile_of(device, NO_MIG, "uuid");
    memset(uuid, 0, sizeof *uuid);
    if (text == NULL) return CUDA_OK;
    text += strspn(text, "GPUMIG-");
    for (int i = 0; i < 16 && *text != '\0'; i++) {
        text += strspn(text, "-");
        unsigned int byte = 0;
        if (sscanf(text, "%2x", &byte) == 1) uuid->bytes[i] = (unsigned char)byte;
        text += strlen(text) < 2 ? strlen(text) : 2;
    }
    return CUDA_OK;
}

int cuDeviceGetUuid_v2(struct uuid *uuid, int device) { return cuDeviceGetUuid(uuid, device); }
