/* One device's health: errors of its memory, clocks, power, heat. */
#include "nvml_standin.h"

struct temperature { unsigned int version, sensor; int celsius; };
struct margin { unsigned int version; int celsius; };
struct utilization { unsigned int gpu, memory; };
struct histogram { unsigned int max, high, partial, low, none; };
struct detailed_errors { unsigned long long l1, l2, memory, registers; };
struct sram_errors {
    unsigned int version;
    unsigned long long aggregate_parity, aggregate_secded, aggregate_corrected, volatile_parity, volatile_secded, volatile_corrected;
    unsigned long long buckets[5];
    unsigned int threshold_exceeded;
};

/* ---- errors of the memory ---- */

int nvmlDeviceGetEccMode(nvmlDevice device, unsigned int *current, unsigned int *pending)
{
    ENTER_DEVICE(device);
    return give_pair(of(device, "ecc"), "%u %u", current, pending);
}

/* type 0 corrected, 1 uncorrected; counter 0 since the driver was loaded, 1 for the board's life */
static const char *errors_of(nvmlDevice device, unsigned int type, unsigned int counter)
{
    static const char *const keys[2][2] = {{"ecc_corrected", "ecc_corrected_total"}, {"ecc_uncorrected", "ecc_uncorrected_total"}};
    return type > 1 || counter > 1 ? NULL : of(device, keys[type][counter]);
}

int nvmlDeviceGetTotalEccErrors(nvmlDevice device, unsigned int type, unsigned int counter, unsigned long long *number)
{
    ENTER_DEVICE(device);
    return type > 1 || counter > 1 ? INVALID_ARGUMENT : give_long(errors_of(device, type, counter), number);
}

int nvmlDeviceGetMemoryErrorCounter(
    nvmlDevice device, unsigned int type, unsigned int counter, unsigned int location, unsigned long long *number)
{
    ENTER_DEVICE(device);
    if (type > 1 || counter > 1) return INVALID_ARGUMENT;
    return location == 2 ? give_long(errors_of(device, type, counter), number) : NOT_SUPPORTED; /* 2: device memory */
}

int nvmlDeviceGetDetailedEccErrors(nvmlDevice device, unsigned int type, unsigned int counter, struct detailed_errors *errors)
{
    ENTER_DEVICE(device);
    memset(errors, 0, sizeof *errors);
    return type > 1 || counter > 1 ? INVALID_ARGUMENT : give_long(errors_of(device, type, counter), &errors->memory);
}

int nvmlDeviceGetSramEccErrorStatus(nvmlDevice device, struct sram_errors *errors)
{
    ENTER_DEVICE(device);
    if (errors->version != VERSION_OF(*errors, 1)) return ARGUMENT_VERSION_MISMATCH;
    if (of(device, "ecc") == NULL) return NOT_SUPPORTED;
    memset(errors, 0, sizeof *errors);
    errors->version = VERSION_OF(*errors, 1);
    return OK;
}

int nvmlDeviceGetRemappedRows(nvmlDevice device, unsigned int *corr, unsigned int *unc, unsigned int *pending, unsigned int *failed)
{
    ENTER_DEVICE(device);
    const char *value = of(device, "remapped");
    return value != NULL && sscanf(value, "%u %u %u %u", corr, unc, pending, failed) == 4 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetRowRemapperHistogram(nvmlDevice device, struct histogram *banks)
{
    ENTER_DEVICE(device);
    const char *value = of(device, "remap_histogram");
    if (value == NULL) return NOT_SUPPORTED;
    return sscanf(value, "%u %u %u %u %u", &banks->max, &banks->high, &banks->partial, &banks->low, &banks->none) == 5 ? OK : NOT_SUPPORTED;
}

NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pending")

int nvmlDeviceGetRetiredPages(nvmlDevice device, unsigned int cause, unsigned int *count, unsigned long long *addresses)
{
    ENTER_DEVICE(device);
    (void)cause, (void)addresses;
    if (of(device, "retired_pending") == NULL) return NOT_SUPPORTED;
    *count = 0;
    return OK;
}

/* ---- heat ---- */

int nvmlDeviceGetTemperature(nvmlDevice device, unsigned int sensor, unsigned int *celsius)
{
    ENTER_DEVICE(device);
    return sensor != 0 ? INVALID_ARGUMENT : give_number(of(device, "temperature"), celsius);
}

int nvmlDeviceGetTemperatureV(nvmlDevice device, struct temperature *temperature)
{
    ENTER_DEVICE(device);
    if (temperature->version != VERSION_OF(*temperature, 1)) return ARGUMENT_VERSION_MISMATCH;
    return temperature->sensor != 0 ? INVALID_ARGUMENT : give_number(of(device, "temperature"), (unsigned int *)&temperature->celsius);
}

int nvmlDeviceGetTemperatureThreshold(nvmlDevice device, unsigned int threshold, unsigned int *celsius)
{
    ENTER_DEVICE(device);
    if (threshold > 1) return NOT_SUPPORTED;
    return give_number(of(device, threshold == 0 ? "temperature_shutdown" : "temperature_slowdown"), celsius);
}

int nvmlDeviceGetMarginTemperature(nvmlDevice device, struct margin *margin)
{
    ENTER_DEVICE(device);
    if (margin->version != VERSION_OF(*margin, 1)) return ARGUMENT_VERSION_MISMATCH;
    if (of(device, "temperature") == NULL || of(device, "temperature_slowdown") == NULL) return NOT_SUPPORTED;
    margin->celsius = (int)size_of(device, "temperature_slowdown") - (int)size_of(device, "temperature");
    return OK;
}

NUMBER(nvmlDeviceGetFanSpeed, "fan")
NUMBER(nvmlDeviceGetNumFans, "fans")

int nvmlDeviceGetFanSpeed_v2(nvmlDevice device, unsigned int fan, unsigned int *percent)
{
    ENTER_DEVICE(device);
    return fan >= size_of(device, "fans") ? INVALID_ARGUMENT : give_number(of(device, "fan"), percent);
}

/* ---- power ---- */

NUMBER(nvmlDeviceGetPowerUsage, "power_usage")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power_default")
NUMBER(nvmlDeviceGetPowerManagementMode, "power_management")
NUMBER(nvmlDeviceGetPowerState, "performance_state")
NUMBER(nvmlDeviceGetPerformanceState, "performance_state")
LONG(nvmlDeviceGetTotalEnergyConsumption, "energy")

int nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice device, unsigned int *least, unsigned int *most)
{
    ENTER_DEVICE(device);
    return give_pair(of(device, "power_limits"), "%u %u", least, most);
}

/* ---- clocks and load ---- */

LONG(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle")
LONG(nvmlDeviceGetCurrentClocksEventReasons, "throttle")
LONG(nvmlDeviceGetSupportedClocksThrottleReasons, "throttle_supported")
LONG(nvmlDeviceGetSupportedClocksEventReasons, "throttle_supported")

static int give_clock(nvmlDevice device, const char *prefix, unsigned int type, unsigned int *mhz)
{
    static const char *const kinds[] = {"graphics", "sm", "memory", "video"};
    char key[32];
    if (type > 3) return INVALID_ARGUMENT;
    snprintf(key, sizeof key, "%s_%s", prefix, kinds[type]);
    return give_number(of(device, key), mhz);
}

int nvmlDeviceGetClockInfo(nvmlDevice device, unsigned int type, unsigned int *mhz)
{
    ENTER_DEVICE(device);
    return give_clock(device, "clock", type, mhz);
}

int nvmlDeviceGetMaxClockInfo(nvmlDevice device, unsigned int type, unsigned int *mhz)
{
    ENTER_DEVICE(device);
    return give_clock(device, "max_clock", type, mhz);
}

int nvmlDeviceGetApplicationsClock(nvmlDevice device, unsigned int type, unsigned int *mhz)
{
    ENTER_DEVICE(device);
    return give_clock(device, "application_clock", type, mhz);
}

int nvmlDeviceGetUtilizationRates(nvmlDevice device, struct utilization *load)
{
    ENTER_DEVICE(device);
    return give_pair(of(device, "utilization"), "%u %u", &load->gpu, &load->memory);
}

static int give_sampled(const char *value, unsigned int *percent, unsigned int *period)
{
    *period = 167000; /* microseconds */
    return give_number(value, percent);
}

int nvmlDeviceGetEncoderUtilization(nvmlDevice device, unsigned int *percent, unsigned int *period)
{
    ENTER_DEVICE(device);
    return give_sampled(of(device, "encoder"), percent, period);
}

int nvmlDeviceGetDecoderUtilization(nvmlDevice device, unsigned int *percent, unsigned int *period)
{
    ENTER_DEVICE(device);
    return give_sampled(of(device, "decoder"), percent, period);
}
