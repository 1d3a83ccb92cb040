/* A libcuda.so.1 for hosts without a driver: the two calls that tell a version and whether CUDA starts.
 *
 * [system] libcuda = 12040 (else `cuda`, which NVML reports too); error.cuInit = 802 plays a host whose fabric manager is stopped.
 */
#include "profile.h"

int cuDriverGetVersion(int *version);
int cuInit(unsigned int flags);

enum { CUDA_OK = 0, CUDA_INVALID_VALUE = 1, CUDA_NO_DEVICE = 100 };

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
    (void)flags;
    return profile_load() ? profile_obey(__func__) : CUDA_NO_DEVICE;
}
