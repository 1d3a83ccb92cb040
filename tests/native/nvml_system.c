/* Starting the library, what it says of the whole system, and the way to a device. */
#include "nvml_standin.h"

#include <strings.h>

struct conf_compute { unsigned int environment, feature, tools; };

struct device standin_devices[MAX_GPUS], standin_migs[MAX_GPUS][MAX_MIGS];
int standin_device_count;
static int users;

/* ---- helpers of all files ---- */

const char *of(nvmlDevice device, const char *key) { return profile_of(device->gpu, device->mig, key); }

unsigned long long size_of(nvmlDevice device, const char *key) { return profile_number(of(device, key)); }

int enter(const char *function)
{
    if (users == 0) return UNINITIALIZED;
    return profile_lacks(function) ? FUNCTION_NOT_FOUND : profile_obey(function);
}

int enter_device(const char *function, nvmlDevice device)
{
    int code = enter(function);
    if (code != OK) return code;
    return device == NULL ? INVALID_ARGUMENT : profile_obey_device(device->gpu, device->mig, function);
}

int give_text(const char *value, char *buffer, unsigned int size)
{
    if (buffer == NULL) return INVALID_ARGUMENT;
    if (value == NULL) return NOT_SUPPORTED;
    if (strlen(value) >= size) return INSUFFICIENT_SIZE;
    strcpy(buffer, value);
    return OK;
}

int give_pair(const char *value, const char *format, unsigned int *first, unsigned int *second)
{
    if (first == NULL || second == NULL) return INVALID_ARGUMENT;
    return value != NULL && sscanf(value, format, first, second) == 2 ? OK : NOT_SUPPORTED;
}

int give_number(const char *value, unsigned int *number)
{
    if (number == NULL) return INVALID_ARGUMENT;
    if (value == NULL) return NOT_SUPPORTED;
    *number = (unsigned int)profile_number(value);
    return OK;
}

int give_long(const char *value, unsigned long long *number)
{
    if (number == NULL) return INVALID_ARGUMENT;
    if (value == NULL) return NOT_SUPPORTED;
    *number = profile_number(value);
    return OK;
}

/* ---- start and end ---- */

int nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    if (!profile_load()) return UNKNOWN;
    int code = profile_obey(__func__);
    if (code != OK) return code;
    standin_device_count = (int)profile_number(profile_get("system", "gpus"));
    if (standin_device_count > MAX_GPUS) standin_device_count = MAX_GPUS;
    for (int gpu = 0; gpu < standin_device_count; gpu++) {
        standin_devices[gpu] = (struct device){gpu, NO_MIG};
        for (int mig = 0; mig < MAX_MIGS; mig++) standin_migs[gpu][mig] = (struct device){gpu, mig};
    }
    users++;
    return OK;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlInit(void) { return nvmlInitWithFlags(0); }

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

/* ---- the system ---- */

static const char *system_key(const char *key) { return profile_get("system", key); }

int nvmlSystemGetDriverVersion(char *buffer, unsigned int size) { ENTER(); return give_text(system_key("driver"), buffer, size); }

int nvmlSystemGetNVMLVersion(char *buffer, unsigned int size) { ENTER(); return give_text(system_key("nvml"), buffer, size); }

int nvmlSystemGetCudaDriverVersion(int *version) { ENTER(); return give_number(system_key("cuda"), (unsigned int *)version); }

int nvmlSystemGetCudaDriverVersion_v2(int *version) { ENTER(); return give_number(system_key("cuda"), (unsigned int *)version); }

int nvmlSystemGetProcessName(unsigned int pid, char *buffer, unsigned int size)
{
    char key[32];
    ENTER();
    snprintf(key, sizeof key, "process.%u", pid);
    const char *name = profile_get("system", key);
    return name == NULL ? NOT_FOUND : give_text(name, buffer, size);
}

int nvmlSystemGetConfComputeState(struct conf_compute *state)
{
    ENTER();
    const char *value = profile_get("system", "conf_compute");
    if (value == NULL) return NOT_SUPPORTED;
    return sscanf(value, "%u %u %u", &state->environment, &state->feature, &state->tools) == 3 ? OK : NOT_SUPPORTED;
}

int nvmlUnitGetCount(unsigned int *units) { ENTER(); return give_number("0", units); }

int nvmlGetExcludedDeviceCount(unsigned int *devices) { ENTER(); return give_number("0", devices); }

/* ---- the way to a device ---- */

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    ENTER();
    *count = (unsigned int)standin_device_count;
    return OK;
}

int nvmlDeviceGetCount(unsigned int *count) { return nvmlDeviceGetCount_v2(count); }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice *handle)
{
    ENTER();
    if (handle == NULL || index >= (unsigned int)standin_device_count) return INVALID_ARGUMENT;
    *handle = &standin_devices[index];
    return profile_obey_device((int)index, NO_MIG, __func__);
}

int nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice *handle) { return nvmlDeviceGetHandleByIndex_v2(index, handle); }

static int find(const char *key, const char *wanted, nvmlDevice *handle)
{
    if (wanted == NULL || handle == NULL) return INVALID_ARGUMENT;
    for (int gpu = 0; gpu < standin_device_count; gpu++) {
        const char *value = profile_of(gpu, NO_MIG, key);
        size_t length = value != NULL ? strlen(value) : 0, given = strlen(wanted);
        /* A PCI domain may be written with four digits or with eight. */
        if (length > 0 && given >= length && strcasecmp(wanted + given - length, value) == 0) {
            *handle = &standin_devices[gpu];
            return OK;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice *handle) { ENTER(); return find("uuid", uuid, handle); }

int nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice *handle) { ENTER(); return find("serial", serial, handle); }

int nvmlDeviceGetHandleByPciBusId_v2(const char *place, nvmlDevice *handle) { ENTER(); return find("pci", place, handle); }
