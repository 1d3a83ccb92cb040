#include "profile.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct profile_line {
    unsigned int hash; /* of section and key: a visit to eight devices looks up thousands of keys that are not there */
    char section[32];
    char key[PROFILE_KEY];
    char value[PROFILE_VALUE];
};

static struct profile_line lines[PROFILE_LINES];
static int count = -1; /* -1: not loaded yet */
static char loaded[4096];
static const char *called[PROFILE_CALLS]; /* names that live as long as the library: __func__ */

char *profile_trim(char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) text[--length] = '\0';
    return text;
}

static unsigned int hash_of(const char *section, const char *key)
{
    unsigned int hash = 2166136261u;
    for (const char *at = section; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * 16777619u;
    hash *= 16777619u;
    for (const char *at = key; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * 16777619u;
    return hash;
}

static int add(const char *section, const char *key, const char *value)
{
    if (count >= PROFILE_LINES) return -1;
    struct profile_line *entry = &lines[count++];
    snprintf(entry->section, sizeof entry->section, "%.31s", section);
    snprintf(entry->key, sizeof entry->key, "%.159s", key);
    snprintf(entry->value, sizeof entry->value, "%.511s", value);
    entry->hash = hash_of(entry->section, entry->key);
    return 0;
}

static void parse(FILE *file)
{
    char line[1024], section[32] = "system";
    while (fgets(line, sizeof line, file) != NULL) {
        char *text = profile_trim(line), *equals;
        if (*text == '\0' || *text == '#' || *text == ';') continue;
        if (*text == '[') {
            text[strcspn(text, "]")] = '\0';
            snprintf(section, sizeof section, "%.31s", text + 1);
        } else if ((equals = strchr(text, '=')) != NULL) {
            *equals = '\0';
            add(section, profile_trim(text), profile_trim(equals + 1));
        }
    }
}

int profile_load(void)
{
    const char *path = getenv("ENVCHECK_NVML_PROFILE");
    if (path == NULL) return 0;
    if (count >= 0 && strcmp(path, loaded) == 0) return 1;
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    snprintf(loaded, sizeof loaded, "%s", path);
    count = 0;
    parse(file);
    fclose(file);
    return 1;
}

void standin_reset(void) { count = -1; }

int standin_override(const char *section, const char *key, const char *value)
{
    return profile_load() ? add(section, key, value) : -1;
}

const char *profile_get(const char *section, const char *key)
{
    unsigned int hash = hash_of(section, key);
    for (int i = count - 1; i >= 0; i--)
        if (lines[i].hash == hash && strcmp(lines[i].key, key) == 0 && strcmp(lines[i].section, section) == 0) return lines[i].value;
    return NULL;
}

static const char *with_index(const char *value, int index)
{
    static _Thread_local char text[PROFILE_VALUE + 16];
    const char *place = value != NULL ? strstr(value, "{i}") : NULL;
    if (place == NULL) return value;
    snprintf(text, sizeof text, "%.*s%x%s", (int)(place - value), value, (unsigned)index, place + 3);
    return text;
}

const char *profile_of(int gpu, int mig, const char *key)
{
    char own[32], any[32];
    if (mig == NO_MIG) {
        snprintf(own, sizeof own, "gpu%d", gpu);
        snprintf(any, sizeof any, "gpu");
    } else {
        snprintf(own, sizeof own, "gpu%d.mig%d", gpu, mig);
        snprintf(any, sizeof any, "gpu.mig%d", mig);
    }
    const char *value = profile_get(own, key);
    return with_index(value != NULL ? value : profile_get(any, key), gpu);
}

const char *profile_of_pair(int first, int second, const char *key)
{
    char own[32];
    snprintf(own, sizeof own, "pair%d-%d", first < second ? first : second, first < second ? second : first);
    const char *value = profile_get(own, key);
    return value != NULL ? value : profile_get("system", key);
}

unsigned long long profile_number(const char *value)
{
    if (value == NULL) return 0;
    char *unit;
    unsigned long long number = strtoull(value, &unit, 0);
    while (isspace((unsigned char)*unit)) unit++;
    if (strncmp(unit, "KiB", 3) == 0) return number << 10;
    if (strncmp(unit, "MiB", 3) == 0) return number << 20;
    if (strncmp(unit, "GiB", 3) == 0) return number << 30;
    return number;
}

static void pause_for(const char *milliseconds)
{
    long wait = milliseconds != NULL ? atol(milliseconds) : 0;
    struct timespec pause = {wait / 1000, (wait % 1000) * 1000000L};
    if (wait > 0) nanosleep(&pause, NULL);
}

const char *standin_called(int index) { return index >= 0 && index < PROFILE_CALLS ? called[index] : NULL; }

static void note(const char *function)
{
    int i = 0;
    while (i < PROFILE_CALLS && called[i] != NULL && called[i] != function) i++;
    if (i < PROFILE_CALLS) called[i] = function;
}

int profile_obey(const char *function)
{
    note(function);
    char key[PROFILE_KEY];
    snprintf(key, sizeof key, "sleep.%s", function);
    pause_for(profile_get("system", key));
    snprintf(key, sizeof key, "crash.%s", function);
    if (profile_get("system", key) != NULL) raise(SIGSEGV);
    snprintf(key, sizeof key, "error.%s", function);
    return (int)profile_number(profile_get("system", key));
}

int profile_obey_device(int gpu, int mig, const char *function)
{
    char key[PROFILE_KEY];
    snprintf(key, sizeof key, "sleep.%s", function);
    pause_for(profile_of(gpu, mig, key));
    snprintf(key, sizeof key, "error.%s", function);
    const char *error = profile_of(gpu, mig, key);
    return (int)profile_number(error != NULL ? error : profile_of(gpu, mig, "error.*"));
}

int profile_lacks(const char *function)
{
    size_t length = strlen(function);
    for (const char *word = profile_get("system", "absent"); word != NULL && *word != '\0';) {
        word += strspn(word, " ,");
        size_t found = strcspn(word, " ,");
        if (found == length && strncmp(word, function, length) == 0) return 1;
        word += found;
    }
    return 0;
}
