/* What a device hangs on: PCI Express, NVLink, the NVSwitch fabric, its neighbours. */
#include "nvml_standin.h"

struct fabric_v1 { unsigned char cluster[16]; int status; unsigned int clique; unsigned char state; };
struct fabric_v2 {
    unsigned int version; unsigned char cluster[16]; int status; unsigned int clique; unsigned char state; unsigned int health;
};
struct fabric_v3 {
    unsigned int version; unsigned char cluster[16]; int status; unsigned int clique; unsigned char state; unsigned int health;
    unsigned char summary;
};
struct field_value {
    unsigned int field, scope;
    long long timestamp, latency;
    unsigned int type;
    int code;
    unsigned long long value;
};

/* ---- PCI Express ---- */

static int give_pcie(nvmlDevice device, int place, unsigned int *value)
{
    unsigned int found[4];
    const char *text = of(device, "pcie");
    if (text == NULL || sscanf(text, "%u %u %u %u", &found[0], &found[1], &found[2], &found[3]) != 4) return NOT_SUPPORTED;
    *value = found[place];
    return OK;
}

#define PCIE(function, place) \
    int function(nvmlDevice device, unsigned int *value) { ENTER_DEVICE(device); return give_pcie(device, place, value); }

PCIE(nvmlDeviceGetCurrPcieLinkGeneration, 0)
PCIE(nvmlDeviceGetCurrPcieLinkWidth, 1)
PCIE(nvmlDeviceGetMaxPcieLinkGeneration, 2)
PCIE(nvmlDeviceGetGpuMaxPcieLinkGeneration, 2)
PCIE(nvmlDeviceGetMaxPcieLinkWidth, 3)
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie_replays")

int nvmlDeviceGetPcieThroughput(nvmlDevice device, unsigned int counter, unsigned int *kilobytes)
{
    ENTER_DEVICE(device);
    return counter > 1 ? INVALID_ARGUMENT : give_number(of(device, "pcie_throughput"), kilobytes);
}

/* ---- NVLink ---- */

static int link_of(nvmlDevice device, unsigned int link, unsigned int *up)
{
    unsigned int all = 0;
    if (give_pair(of(device, "nvlinks"), "%u/%u", up, &all) != OK) return NOT_SUPPORTED;
    return link >= all ? INVALID_ARGUMENT : OK;
}

int nvmlDeviceGetNvLinkState(nvmlDevice device, unsigned int link, unsigned int *active)
{
    ENTER_DEVICE(device);
    unsigned int up = 0;
    int code = link_of(device, link, &up);
    if (code == OK) *active = link < up;
    return code;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice device, unsigned int link, unsigned int *type)
{
    ENTER_DEVICE(device);
    (void)link;
    return give_number(of(device, "nvlink_remote"), type);
}

int nvmlDeviceGetNvLinkVersion(nvmlDevice device, unsigned int link, unsigned int *version)
{
    ENTER_DEVICE(device);
    unsigned int up = 0;
    int code = link_of(device, link, &up);
    return code == OK ? give_number(of(device, "nvlink_version"), version) : code;
}

int nvmlDeviceGetNvLinkCapability(nvmlDevice device, unsigned int link, unsigned int capability, unsigned int *can)
{
    ENTER_DEVICE(device);
    unsigned int up = 0;
    int code = link_of(device, link, &up);
    if (code == OK) *can = capability <= 3;
    return code;
}

int nvmlDeviceGetNvLinkErrorCounter(nvmlDevice device, unsigned int link, unsigned int counter, unsigned long long *errors)
{
    ENTER_DEVICE(device);
    unsigned int up = 0;
    int code = link_of(device, link, &up);
    if (code == OK && counter <= 4) *errors = 0;
    return code == OK && counter > 4 ? INVALID_ARGUMENT : code;
}

/* Field 91 is the number of links, the only one known here; each field has its own answer. */
int nvmlDeviceGetFieldValues(nvmlDevice device, int count, struct field_value *values)
{
    ENTER_DEVICE(device);
    if (values == NULL || count < 0) return INVALID_ARGUMENT;
    for (int i = 0; i < count; i++) {
        unsigned int up = 0, all = 0;
        values[i].type = 1; /* unsigned int */
        values[i].code = values[i].field == 91 ? give_pair(of(device, "nvlinks"), "%u/%u", &up, &all) : NOT_SUPPORTED;
        values[i].value = all;
    }
    return OK;
}

/* ---- the NVSwitch fabric ---- */

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
    size_t size = version == VERSION_OF(struct fabric_v3, 3) ? sizeof(struct fabric_v3) : sizeof *info;
    if (size == sizeof *info && version != VERSION_OF(*info, 2)) return ARGUMENT_VERSION_MISMATCH;
    memset(info, 0xA5, size);
    info->version = version;
    return give_fabric(device, &info->state, &info->status);
}

/* ---- its neighbours ---- */

static int enter_pair(const char *function, nvmlDevice first, nvmlDevice second)
{
    int code = enter_device(function, first);
    if (code == OK) code = second == NULL ? INVALID_ARGUMENT : profile_obey_device(second->gpu, second->mig, function);
    if (code != OK) return code;
    char key[PROFILE_KEY];
    snprintf(key, sizeof key, "error.%s", function);
    return (int)profile_number(profile_of_pair(first->gpu, second->gpu, key));
}

int nvmlDeviceGetTopologyCommonAncestor(nvmlDevice first, nvmlDevice second, unsigned int *level)
{
    int code = enter_pair(__func__, first, second);
    return code != OK ? code : give_number(profile_of_pair(first->gpu, second->gpu, "ancestor"), level);
}

int nvmlDeviceGetP2PStatus(nvmlDevice first, nvmlDevice second, unsigned int index, unsigned int *status)
{
    static const char *const kinds[] = {"p2p_read", "p2p_write", "p2p_nvlink", "p2p_atomics", "p2p_prop"};
    int code = enter_pair(__func__, first, second);
    if (code != OK) return code;
    return index > 4 ? INVALID_ARGUMENT : give_number(profile_of_pair(first->gpu, second->gpu, kinds[index]), status);
}

int nvmlDeviceGetTopologyNearestGpus(nvmlDevice device, unsigned int level, unsigned int *count, nvmlDevice *near)
{
    unsigned int found = 0, ancestor = 0, room = count != NULL ? *count : 0;
    ENTER_DEVICE(device);
    if (count == NULL) return INVALID_ARGUMENT;
    for (int gpu = 0; gpu < standin_device_count; gpu++) {
        if (gpu == device->gpu || give_number(profile_of_pair(device->gpu, gpu, "ancestor"), &ancestor) != OK) continue;
        if (ancestor != level) continue;
        if (near != NULL && found < room) near[found] = &standin_devices[gpu];
        found++;
    }
    *count = found;
    return OK;
}

int nvmlDeviceOnSameBoard(nvmlDevice first, nvmlDevice second, int *same)
{
    ENTER_DEVICE(first);
    if (second == NULL) return INVALID_ARGUMENT;
    *same = first->gpu == second->gpu;
    return OK;
}
