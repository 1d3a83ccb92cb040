/* A libnvidia-ml.so.1 for hosts without a GPU, answering from a profile (profile.h says how one is written).
 *
 * Layouts and codes are NVML's public interface. Keys:
 *
 *   [system]  gpus, driver, nvml, cuda (12040 = 12.4)
 *             absent = functions, separated by blanks, that this driver does not have
 *             error.FUNCTION = code, sleep.FUNCTION = milliseconds, crash.FUNCTION = 1
 *   [gpu]     for every device, [gpu3] for one: name, uuid, pci, cc, memory_total, memory_reserved, memory_used,
 *             mig = current pending, mig_max, fabric = state status, nvlinks = active/all, nvlink_remote (0 GPU, 2 switch),
 *             virtualization, processes = pid:size,pid:NA, graphics = the same,
 *             error.FUNCTION = code, error.* = code, sleep.FUNCTION = milliseconds
 *   [gpu0.mig2]  a MIG device at index 2: name, uuid, memory_total, memory_reserved, memory_used
 *
 * A key that is left out is answered with NOT_SUPPORTED, as a board does that has no such thing.
 */
#include "profile.h"

enum {
    OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    FUNCTION_NOT_FOUND = 13, ARGUMENT_VERSION_MISMATCH = 25, UNKNOWN = 999
};
enum { MAX_GPUS = 64, MAX_MIGS = 8, NO_MIG = -1 };

typedef struct device { int gpu, mig; } *nvmlDevice;

struct memory_v1 { unsigned long long total, free, used; };
struct memory_v2 { unsigned int version; unsigned long long total, reserved, free, used; };
struct pci_info { char legacy_bus_id[16]; unsigned int domain, bus, device, device_id, subsystem_id; char bus_id[32]; };
struct process { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; };
struct fabric_v1 { unsigned char cluster[16]; int status; unsigned int clique; unsigned char state; };
struct fabric_v2 { unsigned int version; unsigned char cluster[16]; int status; unsigned int clique; unsigned char state; unsigned int health; };
struct fabric_v3 {
    unsigned int version; unsigned char cluster[16]; int status; unsigned int clique; unsigned char state; unsigned int health;
    unsigned char summary;
};

static struct device devices[MAX_GPUS], mig_devices[MAX_GPUS][MAX_MIGS];
static int device_count, users;

/* ---- what the profile says about a device ---- */

static const char *substitute(const char *value, int index)
{
    static _Thread_local char text[PROFILE_VALUE + 16];
    const char *place = value != NULL ? strstr(value, "{i}") : NULL;
    if (place == NULL) return value;
    snprintf(text, sizeof text, "%.*s%x%s", (int)(place - value), value, (unsigned)index, place + 3);
    return text;
}

static const char *of(nvmlDevice device, const char *key)
{
    char own[32], any[32];
    if (device->mig == NO_MIG) {
        snprintf(own, sizeof own, "gpu%d", device->gpu);
        snprintf(any, sizeof any, "gpu");
    } else {
        snprintf(own, sizeof own, "gpu%d.mig%d", device->gpu, device->mig);
        snprintf(any, sizeof any, "gpu.mig%d", device->mig);
    }
    const char *value = profile_get(own, key);
    return substitute(value != NULL ? value : profile_get(any, key), device->gpu);
}

static unsigned long long size_of(nvmlDevice device, const char *key) { return profile_number(of(device, key)); }

static int lacks(const char *function)
{
    const char *list = profile_get("system", "absent");
    size_t length = strlen(function);
    for (const char *word = list; word != NULL && *word != '\0';) {
        word += strspn(word, " ,");
        size_t found = strcspn(word, " ,");
        if (found == length && strncmp(word, function, length) == 0) return 1;
        word += found;
    }
    return 0;
}

static int enter(const char *function)
{
    if (users == 0) return UNINITIALIZED;
    return lacks(function) ? FUNCTION_NOT_FOUND : profile_obey(function);
}

static int enter_device(const char *function, nvmlDevice device)
{
    if (device == NULL) return INVALID_ARGUMENT;
    int code = enter(function);
    if (code != OK) return code;
    char key[PROFILE_KEY];
    snprintf(key, sizeof key, "sleep.%s", function);
    profile_sleep(of(device, key));
    snprintf(key, sizeof key, "error.%s", function);
    const char *error = of(device, key);
    return (int)profile_number(error != NULL ? error : of(device, "error.*"));
}

#define ENTER() do { int code_ = enter(__func__); if (code_ != OK) return code_; } while (0)
#define ENTER_DEVICE(device) do { int code_ = enter_device(__func__, device); if (code_ != OK) return code_; } while (0)

static int give_text(const char *value, char *buffer, unsigned int size)
{
    if (value == NULL) return NOT_SUPPORTED;
    if (strlen(value) >= size) return INSUFFICIENT_SIZE;
    strcpy(buffer, value);
    return OK;
}

static int give_pair(const char *value, const char *format, unsigned int *first, unsigned int *second)
{
    return value != NULL && sscanf(value, format, first, second) == 2 ? OK : NOT_SUPPORTED;
}

static int give_number(const char *value, unsigned int *number)
{
    if (value == NULL) return NOT_SUPPORTED;
    *number = (unsigned int)profile_number(value);
    return OK;
}

/* ---- the library ---- */

int nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    if (!profile_load()) return UNKNOWN;
    int code = profile_obey(__func__);
    if (code != OK) return code;
    device_count = (int)profile_number(profile_get("system", "gpus"));
    if (device_count > MAX_GPUS) device_count = MAX_GPUS;
    for (int gpu = 0; gpu < device_count; gpu++) {
        devices[gpu] = (struct device){gpu, NO_MIG};
        for (int mig = 0; mig < MAX_MIGS; mig++) mig_devices[gpu][mig] = (struct device){gpu, mig};
    }
    users++;
    return OK;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void)
{
    if (users == 0) return UNINITIALIZED;
    users--;
    return OK;
}

const char *nvmlErrorString(int code)
{
    static char text[32];
    snprintf(text, sizeof text, "stand-in error %d", code);
    return text;
}

int nvmlSystemGetDriverVersion(char *buffer, unsigned int size) { ENTER(); return give_text(profile_get("system", "driver"), buffer, size); }

int nvmlSystemGetNVMLVersion(char *buffer, unsigned int size) { ENTER(); return give_text(profile_get("system", "nvml"), buffer, size); }

int nvmlSystemGetCudaDriverVersion(int *version) { ENTER(); return give_number(profile_get("system", "cuda"), (unsigned int *)version); }

int nvmlSystemGetCudaDriverVersion_v2(int *version) { ENTER(); return give_number(profile_get("system", "cuda"), (unsigned int *)version); }

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    ENTER();
    *count = (unsigned int)device_count;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice *handle)
{
    ENTER();
    if (index >= (unsigned int)device_count) return INVALID_ARGUMENT;
    *handle = &devices[index];
    return enter_device(__func__, *handle);
}

/* ---- one device ---- */

int nvmlDeviceGetName(nvmlDevice device, char *buffer, unsigned int size) { ENTER_DEVICE(device); return give_text(of(device, "name"), buffer, size); }

int nvmlDeviceGetUUID(nvmlDevice device, char *buffer, unsigned int size) { ENTER_DEVICE(device); return give_text(of(device, "uuid"), buffer, size); }

int nvmlDeviceGetVirtualizationMode(nvmlDevice device, unsigned int *mode) { ENTER_DEVICE(device); return give_number(of(device, "virtualization"), mode); }

int nvmlDeviceGetMigMode(nvmlDevice device, unsigned int *current, unsigned int *pending)
{
    ENTER_DEVICE(device);
    return give_pair(of(device, "mig"), "%u %u", current, pending);
}

int nvmlDeviceGetCudaComputeCapability(nvmlDevice device, int *major, int *minor)
{
    ENTER_DEVICE(device);
    return give_pair(of(device, "cc"), "%u.%u", (unsigned int *)major, (unsigned int *)minor);
}

int nvmlDeviceGetPciInfo_v3(nvmlDevice device, struct pci_info *info)
{
    ENTER_DEVICE(device);
    const char *place = of(device, "pci");
    unsigned int function = 0;
    memset(info, 0, sizeof *info);
    if (place == NULL || sscanf(place, "%x:%x:%x.%x", &info->domain, &info->bus, &info->device, &function) != 4) return NOT_SUPPORTED;
    snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:%02X.%X", info->domain, info->bus & 0xFF, info->device & 0xFF, function & 7);
    return OK;
}

/* Version 1 counts what the driver keeps for itself as used, version 2 tells it apart. */
int nvmlDeviceGetMemoryInfo(nvmlDevice device, struct memory_v1 *memory)
{
    ENTER_DEVICE(device);
    if (of(device, "memory_total") == NULL) return NOT_SUPPORTED;
    memory->total = size_of(device, "memory_total");
    memory->used = size_of(device, "memory_used") + size_of(device, "memory_reserved");
    memory->free = memory->total - memory->used;
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(nvmlDevice device, struct memory_v2 *memory)
{
    ENTER_DEVICE(device);
    if (memory->version != (sizeof *memory | 2u << 24)) return ARGUMENT_VERSION_MISMATCH;
    if (of(device, "memory_total") == NULL) return NOT_SUPPORTED;
    memory->total = size_of(device, "memory_total");
    memory->reserved = size_of(device, "memory_reserved");
    memory->used = size_of(device, "memory_used");
    memory->free = memory->total - memory->used - memory->reserved;
    return OK;
}

static int give_processes(const char *list, unsigned int *count, struct process *out)
{
    struct process found[32];
    unsigned int known = 0;
    char text[PROFILE_VALUE], *rest = NULL;
    snprintf(text, sizeof text, "%s", list != NULL ? list : "");
    for (char *word = strtok_r(text, ",", &rest); word != NULL && known < 32; word = strtok_r(NULL, ",", &rest)) {
        char *size = strchr(word, ':');
        int unknown = size == NULL || strncmp(profile_trim(size + 1), "NA", 2) == 0;
        found[known++] = (struct process){(unsigned int)strtoul(word, NULL, 10), unknown ? ~0ull : profile_number(size + 1), ~0u, ~0u};
    }
    int fits = known <= *count && (out != NULL || known == 0);
    *count = known;
    if (!fits) return INSUFFICIENT_SIZE;
    if (known > 0) memcpy(out, found, known * sizeof *found);
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice device, unsigned int *count, struct process *out)
{
    ENTER_DEVICE(device);
    return give_processes(of(device, "processes"), count, out);
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice device, unsigned int *count, struct process *out)
{
    ENTER_DEVICE(device);
    return give_processes(of(device, "processes"), count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice device, unsigned int *count, struct process *out)
{
    ENTER_DEVICE(device);
    return give_processes(of(device, "graphics"), count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice device, unsigned int *count, struct process *out)
{
    ENTER_DEVICE(device);
    return give_processes(of(device, "graphics"), count, out);
}

/* ---- MIG ---- */

int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice device, unsigned int *count) { ENTER_DEVICE(device); return give_number(of(device, "mig_max"), count); }

int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice device, unsigned int index, nvmlDevice *handle)
{
    ENTER_DEVICE(device);
    if (of(device, "mig_max") == NULL) return NOT_SUPPORTED;
    if (index >= MAX_MIGS || of(&mig_devices[device->gpu][index], "uuid") == NULL) return NOT_FOUND;
    *handle = &mig_devices[device->gpu][index];
    return OK;
}

/* ---- NVLink and the NVSwitch fabric ---- */

int nvmlDeviceGetNvLinkState(nvmlDevice device, unsigned int link, unsigned int *active)
{
    ENTER_DEVICE(device);
    unsigned int up = 0, all = 0;
    if (give_pair(of(device, "nvlinks"), "%u/%u", &up, &all) != OK) return NOT_SUPPORTED;
    if (link >= all) return INVALID_ARGUMENT;
    *active = link < up;
    return OK;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice device, unsigned int link, unsigned int *type)
{
    ENTER_DEVICE(device);
    (void)link;
    return give_number(of(device, "nvlink_remote"), type);
}

static int give_fabric(nvmlDevice device, unsigned char *state, int *status)
{
    unsigned int first = 0, second = 0;
    if (give_pair(of(device, "fabric"), "%u %u", &first, &second) != OK) return NOT_SUPPORTED;
    *state = (unsigned char)first;
    *status = (int)second;
    return OK;
}

int nvmlDeviceGetGpuFabricInfo(nvmlDevice device, struct fabric_v1 *info)
{
    ENTER_DEVICE(device);
    memset(info, 0xA5, sizeof *info); /* a driver owes nobody clean padding */
    return give_fabric(device, &info->state, &info->status);
}

int nvmlDeviceGetGpuFabricInfoV(nvmlDevice device, struct fabric_v2 *info)
{
    ENTER_DEVICE(device);
    unsigned int version = info->version;
    size_t size = version == (sizeof(struct fabric_v3) | 3u << 24) ? sizeof(struct fabric_v3) : sizeof *info;
    if (size == sizeof *info && version != (sizeof *info | 2u << 24)) return ARGUMENT_VERSION_MISMATCH;
    memset(info, 0xA5, size);
    info->version = version;
    return give_fabric(device, &info->state, &info->status);
}
