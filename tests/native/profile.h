/* The profile both stand-ins answer from: an ini file named by ENVCHECK_NVML_PROFILE.
 *
 * [section] lines, `key = value` lines, `#` and `;` comments. A later line wins over an earlier one. Sections: [system]; [gpu] for every
 * device and [gpu3] for one; [gpu0.mig2] and [gpu.mig2] for a MIG device; [pair0-1] for two devices. `{i}` in a device's value becomes
 * its index in hex. Sizes may end in KiB, MiB or GiB.
 *
 * A process may change its host as it runs: another path in ENVCHECK_NVML_PROFILE counts from the next start of the library on, and
 * standin_override() adds a line at once. standin_reset() forgets all of it; the file is read again. standin_called(0), (1), … name the
 * functions asked for so far, each once.
 */
#ifndef ENVCHECK_PROFILE_H
#define ENVCHECK_PROFILE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>

enum { PROFILE_LINES = 2048, PROFILE_KEY = 160, PROFILE_VALUE = 512, PROFILE_CALLS = 256, NO_MIG = -1 };

#pragma GCC visibility push(default)
/* 0, or -1 where there is no profile or no room. */
int standin_override(const char *section, const char *key, const char *value);
void standin_reset(void);
const char *standin_called(int index);
#pragma GCC visibility pop

/* Both libraries carry these, and a process may hold both: neither may answer for the other. */
#pragma GCC visibility push(hidden)
char *profile_trim(char *text);

/* 1 when the profile could be read. A stand-in without its profile must fail loudly, not answer with nothing. */
int profile_load(void);

const char *profile_get(const char *section, const char *key);

/* What the profile says of a device: its own section before that of all. The text lives until the next call. */
const char *profile_of(int gpu, int mig, const char *key);

/* What it says of two devices, in either order: [pairA-B], else [system]. */
const char *profile_of_pair(int first, int second, const char *key);

unsigned long long profile_number(const char *value);

/* Sleep, crash or fail in `function` if [system] says so; the error code, 0 for none. */
int profile_obey(const char *function);

/* The same for one device. */
int profile_obey_device(int gpu, int mig, const char *function);

/* Whether [system] lists `function` in `absent`. */
int profile_lacks(const char *function);
#pragma GCC visibility pop

#endif
