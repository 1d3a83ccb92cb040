/* One device: what it is, its memory, who works on it, how it is cut up. */
#include "nvml_standin.h"

struct memory_v1 { unsigned long long total, free, used; };
struct memory_v2 { unsigned int version; unsigned long long total, reserved, free, used; };
struct pci_info { char legacy_bus_id[16]; unsigned int domain, bus, device, device_id, subsystem_id; char bus_id[32]; };
struct pci_info_ext {
    unsigned int version, domain, bus, device, device_id, subsystem_id, base_class, sub_class;
    char bus_id[32];
};
struct process_v1 { unsigned int pid; unsigned long long used; };
struct process { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; };
struct attributes {
    unsigned int multiprocessors, copy_engines, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mb;
};

/* ---- what it is ---- */

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetBoardPartNumber, "part_number")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetBoardId, "board_id")
NUMBER(nvmlDeviceGetModuleId, "module_id")
NUMBER(nvmlDeviceGetMultiGpuBoard, "multi_gpu_board")
NUMBER(nvmlDeviceGetBrand, "brand")
NUMBER(nvmlDeviceGetArchitecture, "architecture")
NUMBER(nvmlDeviceGetNumGpuCores, "cores")
NUMBER(nvmlDeviceGetMemoryBusWidth, "bus_width")
NUMBER(nvmlDeviceGetBusType, "bus_type")
NUMBER(nvmlDeviceGetIrqNum, "irq")
NUMBER(nvmlDeviceGetNumaNodeId, "numa")
NUMBER(nvmlDeviceGetVirtualizationMode, "virtualization")
NUMBER(nvmlDeviceGetDisplayActive, "display")
NUMBER(nvmlDeviceGetDisplayMode, "display_mode")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetAccountingMode, "accounting")

int nvmlDeviceGetIndex(nvmlDevice device, unsigned int *index)
{
    ENTER_DEVICE(device);
    *index = (unsigned int)device->gpu;
    return OK;
}

int nvmlDeviceGetGspFirmwareVersion(nvmlDevice device, char *version)
{
    ENTER_DEVICE(device);
    return give_text(of(device, "gsp"), version, 64);
}

int nvmlDeviceGetCudaComputeCapability(nvmlDevice device, int *major, int *minor)
{
    ENTER_DEVICE(device);
    return give_pair(of(device, "cc"), "%u.%u", (unsigned int *)major, (unsigned int *)minor);
}

static int parse_pci(nvmlDevice device, unsigned int *domain, unsigned int *bus, unsigned int *slot, char text[32])
{
    const char *place = of(device, "pci");
    unsigned int function = 0;
    if (place == NULL || sscanf(place, "%x:%x:%x.%x", domain, bus, slot, &function) != 4) return NOT_SUPPORTED;
    snprintf(text, 32, "%08X:%02X:%02X.%X", *domain, *bus & 0xFF, *slot & 0xFF, function & 7);
    return OK;
}

static void pci_ids(nvmlDevice device, unsigned int *id, unsigned int *subsystem)
{
    const char *ids = of(device, "pci_ids");
    if (ids == NULL || sscanf(ids, "%x %x", id, subsystem) != 2) *id = *subsystem = 0;
}

int nvmlDeviceGetPciInfo_v3(nvmlDevice device, struct pci_info *info)
{
    ENTER_DEVICE(device);
    memset(info, 0, sizeof *info);
    int code = parse_pci(device, &info->domain, &info->bus, &info->device, info->bus_id);
    snprintf(info->legacy_bus_id, sizeof info->legacy_bus_id, "%.15s", code == OK ? info->bus_id + 4 : "");
    pci_ids(device, &info->device_id, &info->subsystem_id);
    return code;
}

int nvmlDeviceGetPciInfoExt(nvmlDevice device, struct pci_info_ext *info)
{
    ENTER_DEVICE(device);
    if (info->version != VERSION_OF(*info, 1)) return ARGUMENT_VERSION_MISMATCH;
    info->base_class = 3;
    info->sub_class = 2;
    pci_ids(device, &info->device_id, &info->subsystem_id);
    return parse_pci(device, &info->domain, &info->bus, &info->device, info->bus_id);
}

/* ---- memory ---- */

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
    if (memory->version != VERSION_OF(*memory, 2)) return ARGUMENT_VERSION_MISMATCH;
    if (of(device, "memory_total") == NULL) return NOT_SUPPORTED;
    memory->total = size_of(device, "memory_total");
    memory->reserved = size_of(device, "memory_reserved");
    memory->used = size_of(device, "memory_used");
    memory->free = memory->total - memory->used - memory->reserved;
    return OK;
}

int nvmlDeviceGetBAR1MemoryInfo(nvmlDevice device, struct memory_v1 *window)
{
    ENTER_DEVICE(device);
    if (of(device, "bar1_total") == NULL) return NOT_SUPPORTED;
    window->total = size_of(device, "bar1_total");
    window->used = size_of(device, "bar1_used");
    window->free = window->total - window->used;
    return OK;
}

/* ---- processes ---- */

static unsigned int parse_processes(const char *list, struct process found[32])
{
    unsigned int known = 0;
    char text[PROFILE_VALUE], *rest = NULL;
    snprintf(text, sizeof text, "%s", list != NULL ? list : "");
    for (char *word = strtok_r(text, ",", &rest); word != NULL && known < 32; word = strtok_r(NULL, ",", &rest)) {
        char *size = strchr(word, ':');
        int unknown = size == NULL || strncmp(profile_trim(size + 1), "NA", 2) == 0;
        found[known++] = (struct process){(unsigned int)strtoul(word, NULL, 10), unknown ? ~0ull : profile_number(size + 1), ~0u, ~0u};
    }
    return known;
}

static int give_processes(const char *list, unsigned int *count, struct process *out)
{
    struct process found[32];
    unsigned int known = parse_processes(list, found);
    int fits = known <= *count && (out != NULL || known == 0);
    *count = known;
    if (!fits) return INSUFFICIENT_SIZE;
    if (known > 0) memcpy(out, found, known * sizeof *found);
    return OK;
}

static int give_processes_v1(const char *list, unsigned int *count, struct process_v1 *out)
{
    struct process found[32];
    unsigned int known = parse_processes(list, found);
    int fits = known <= *count && (out != NULL || known == 0);
    *count = known;
    if (!fits) return INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < known; i++) out[i] = (struct process_v1){found[i].pid, found[i].used};
    return OK;
}

#define PROCESSES(function, key) \
    int function(nvmlDevice device, unsigned int *count, struct process *out) \
    { \
        ENTER_DEVICE(device); \
        return give_processes(of(device, key), count, out); \
    }
#define PROCESSES_V1(function, key) \
    int function(nvmlDevice device, unsigned int *count, struct process_v1 *out) \
    { \
        ENTER_DEVICE(device); \
        return give_processes_v1(of(device, key), count, out); \
    }

PROCESSES_V1(nvmlDeviceGetComputeRunningProcesses, "processes")
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "processes")
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "processes")
PROCESSES_V1(nvmlDeviceGetGraphicsRunningProcesses, "graphics")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics")
PROCESSES_V1(nvmlDeviceGetMPSComputeRunningProcesses, "mps")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps")

/* ---- MIG ---- */

NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig_max")

int nvmlDeviceGetMigMode(nvmlDevice device, unsigned int *current, unsigned int *pending)
{
    ENTER_DEVICE(device);
    return give_pair(of(device, "mig"), "%u %u", current, pending);
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice device, unsigned int index, nvmlDevice *handle)
{
    ENTER_DEVICE(device);
    if (of(device, "mig_max") == NULL) return NOT_SUPPORTED;
    if (index >= MAX_MIGS || of(&standin_migs[device->gpu][index], "uuid") == NULL) return NOT_FOUND;
    *handle = &standin_migs[device->gpu][index];
    return OK;
}

int nvmlDeviceIsMigDeviceHandle(nvmlDevice device, unsigned int *is)
{
    ENTER_DEVICE(device);
    *is = device->mig != NO_MIG;
    return OK;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice device, nvmlDevice *parent)
{
    ENTER_DEVICE(device);
    if (device->mig == NO_MIG) return INVALID_ARGUMENT;
    *parent = &standin_devices[device->gpu];
    return OK;
}

int nvmlDeviceGetGpuInstanceId(nvmlDevice device, unsigned int *id)
{
    unsigned int other;
    ENTER_DEVICE(device);
    return give_pair(of(device, "instance"), "%u %u", id, &other);
}

int nvmlDeviceGetComputeInstanceId(nvmlDevice device, unsigned int *id)
{
    unsigned int other;
    ENTER_DEVICE(device);
    return give_pair(of(device, "instance"), "%u %u", &other, id);
}

int nvmlDeviceGetAttributes_v2(nvmlDevice device, struct attributes *attributes)
{
    ENTER_DEVICE(device);
    memset(attributes, 0, sizeof *attributes);
    attributes->memory_mb = size_of(device, "memory_total") >> 20;
    return give_pair(of(device, "slices"), "%u %u", &attributes->gpu_slices, &attributes->compute_slices);
}
