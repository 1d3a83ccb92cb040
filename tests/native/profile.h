/* The profile both stand-ins answer from: an ini file named by ENVCHECK_NVML_PROFILE.
 *
 * [section] lines, `key = value` lines, `#` and `;` comments. A later line wins over an earlier one. `{i}` in a value of a [gpu]
 * section becomes the device's index. Sizes may end in KiB, MiB or GiB.
 */
#ifndef ENVCHECK_PROFILE_H
#define ENVCHECK_PROFILE_H

#define _GNU_SOURCE
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROFILE_LINES = 2048, PROFILE_KEY = 160, PROFILE_VALUE = 512 };

struct profile_line {
    char section[32];
    char key[PROFILE_KEY];
    char value[PROFILE_VALUE];
};

static struct profile_line profile_lines[PROFILE_LINES];
static int profile_count = -1; /* -1: not loaded yet */

static char *profile_trim(char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) text[--length] = '\0';
    return text;
}

static void profile_add(const char *section, char *line)
{
    char *equals = strchr(line, '=');
    if (equals == NULL || profile_count >= PROFILE_LINES) return;
    *equals = '\0';
    struct profile_line *entry = &profile_lines[profile_count++];
    snprintf(entry->section, sizeof entry->section, "%.31s", section);
    snprintf(entry->key, sizeof entry->key, "%.159s", profile_trim(line));
    snprintf(entry->value, sizeof entry->value, "%.511s", profile_trim(equals + 1));
}

/* 1 when the profile could be read. A stand-in without its profile must fail loudly, not answer with nothing. */
static int profile_load(void)
{
    if (profile_count >= 0) return 1;
    const char *path = getenv("ENVCHECK_NVML_PROFILE");
    FILE *file = path != NULL ? fopen(path, "r") : NULL;
    if (file == NULL) return 0;
    char line[1024], section[32] = "system";
    profile_count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        char *text = profile_trim(line);
        if (*text == '\0' || *text == '#' || *text == ';') continue;
        if (*text != '[') {
            profile_add(section, text);
            continue;
        }
        text[strcspn(text, "]")] = '\0';
        snprintf(section, sizeof section, "%.31s", text + 1);
    }
    fclose(file);
    return 1;
}

static const char *profile_get(const char *section, const char *key)
{
    for (int i = profile_count - 1; i >= 0; i--)
        if (strcmp(profile_lines[i].section, section) == 0 && strcmp(profile_lines[i].key, key) == 0) return profile_lines[i].value;
    return NULL;
}

static unsigned long long profile_number(const char *value)
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

static void profile_sleep(const char *milliseconds)
{
    long wait = milliseconds != NULL ? atol(milliseconds) : 0;
    struct timespec pause = {wait / 1000, (wait % 1000) * 1000000L};
    if (wait > 0) nanosleep(&pause, NULL);
}

/* Sleep, crash or fail in `function` if [system] says so; the error code, 0 for none. */
static int profile_obey(const char *function)
{
    char key[PROFILE_KEY];
    snprintf(key, sizeof key, "sleep.%s", function);
    profile_sleep(profile_get("system", key));
    snprintf(key, sizeof key, "crash.%s", function);
    if (profile_get("system", key) != NULL) raise(SIGSEGV);
    snprintf(key, sizeof key, "error.%s", function);
    return (int)profile_number(profile_get("system", key));
}

#endif
