/* A libnvidia-ml.so.1 for hosts without a GPU, answering from a profile (profile.h says how one is written).
 *
 * Layouts and codes are NVML's public interface. Keys, the device's in [gpu] or [gpuN]:
 *
 *   [system]  gpus, driver, nvml, cuda (12040 = 12.4), conf_compute = environment feature devtools
 *             library = 470: the build that lacks what driver 470 lacked (chosen by whoever starts the process)
 *             absent = functions, separated by blanks, that this driver does not have
 *             error.FUNCTION = code, sleep.FUNCTION = milliseconds, crash.FUNCTION = 1
 *             ancestor (0 internal, 10, 20, 30, 40, 50 system), p2p_read, p2p_write, p2p_nvlink, p2p_atomics, p2p_prop = NVML's status
 *   [pairA-B] ancestor, p2p_* and error.FUNCTION for one pair
 *   identity  name, uuid, serial, pci, pci_ids = device subsystem, minor, brand, board_id, part_number, vbios, architecture, cc, cores,
 *             bus_width, virtualization, numa, module_id, bus_type, irq, gsp, display, display_mode
 *   memory    memory_total, memory_reserved, memory_used, bar1_total, bar1_used,
 *             processes = pid:size,pid:NA, graphics and mps = the same
 *   modes     mig = current pending, mig_max, ecc = current pending, persistence, compute_mode, accounting
 *   health    ecc_uncorrected, ecc_corrected, ecc_uncorrected_total, ecc_corrected_total, remapped = corr unc pending failure,
 *             remap_histogram = max high partial low none, retired_pending, throttle, throttle_supported, temperature,
 *             temperature_shutdown, temperature_slowdown, fan, fans, performance_state, utilization = gpu memory, encoder, decoder
 *   power, mW power_limit, power_default, power_limits = min max, power_usage, power_management; energy in mJ
 *   clocks    clock_graphics, clock_sm, clock_memory, clock_video and max_clock_… the same, MHz
 *   links     pcie = gen width gen_max width_max, pcie_replays, pcie_throughput (KB/s), fabric = state status, nvlinks = active/all,
 *             nvlink_remote (0 GPU, 2 switch), nvlink_version
 *   [gpu0.mig2]  a MIG device at index 2: name, uuid, memory_total, memory_reserved, memory_used, instance = gpu compute,
 *             slices = gpu compute
 *   any device   error.FUNCTION = code, error.* = code, sleep.FUNCTION = milliseconds
 *
 * A key that is left out is answered with NOT_SUPPORTED, as a board does that has no such thing.
 */
#ifndef ENVCHECK_NVML_STANDIN_H
#define ENVCHECK_NVML_STANDIN_H

#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    FUNCTION_NOT_FOUND = 13, ARGUMENT_VERSION_MISMATCH = 25, UNKNOWN = 999
};
enum { MAX_GPUS = 64, MAX_MIGS = 8 };

typedef struct device { int gpu, mig; } *nvmlDevice;

/* The version word of a struct: its size and, above it, its number. */
#define VERSION_OF(type, number) ((unsigned int)(sizeof(type) | (unsigned int)(number) << 24))

#pragma GCC visibility push(hidden)
extern struct device standin_devices[MAX_GPUS], standin_migs[MAX_GPUS][MAX_MIGS];
extern int standin_device_count;

const char *of(nvmlDevice device, const char *key);
unsigned long long size_of(nvmlDevice device, const char *key);
int enter(const char *function);
int enter_device(const char *function, nvmlDevice device);
int give_text(const char *value, char *buffer, unsigned int size);
int give_pair(const char *value, const char *format, unsigned int *first, unsigned int *second);
int give_number(const char *value, unsigned int *number);
int give_long(const char *value, unsigned long long *number);
#pragma GCC visibility pop

#define ENTER() do { int code_ = enter(__func__); if (code_ != OK) return code_; } while (0)
#define ENTER_DEVICE(device) do { int code_ = enter_device(__func__, device); if (code_ != OK) return code_; } while (0)

/* A call that gives one number, one long number, or one text of a device. */
#define NUMBER(function, key) \
    int function(nvmlDevice device, unsigned int *value) { ENTER_DEVICE(device); return give_number(of(device, key), value); }
#define LONG(function, key) \
    int function(nvmlDevice device, unsigned long long *value) { ENTER_DEVICE(device); return give_long(of(device, key), value); }
#define TEXT(function, key) \
    int function(nvmlDevice device, char *text, unsigned int size) { ENTER_DEVICE(device); return give_text(of(device, key), text, size); }

#endif
