/* options.c: see options.h. */
#include "probe/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/cmd.h"

enum { LIB_DIR = 1000, YAML };

static bool bad(const char *command, int *ret_code)
{
    fprintf(stderr, "Try %s --help.\n", command);
    *ret_code = EXIT_BAD_INPUT;
    return false;
}

static bool read_timeout(const char *text, double *ret_timeout_s)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0 && value <= 3600))
        return false;
    *ret_timeout_s = value;
    return true;
}

bool options_read(int argc, char **argv, const char *allowed, const char *help,
                  struct options *ret_options, struct sys *ret_sys, int *ret_code)
{
    static const struct option all[] = {{"sysroot", required_argument, NULL, 'r'},
                                        {"timeout", required_argument, NULL, 't'},
                                        {"lib-dir", required_argument, NULL, LIB_DIR},
                                        {"output", required_argument, NULL, 'o'},
                                        {"yaml", no_argument, NULL, YAML},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};
    struct why why = {""};
    *ret_options = (struct options){.timeout_s = 20};
    for (int option; (option = getopt_long(argc, argv, "r:t:o:qh", all, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            *ret_code = EXIT_FINE;
            return false;
        }
        if (option == '?')
            return bad(argv[0], ret_code);
        const char *name = option == 'o' ? "-o" : option == 'q' ? "-q" : "--yaml";
        if ((option == 'o' || option == 'q' || option == YAML) &&
            !strchr(allowed, option == YAML ? 'y' : option)) {
            fprintf(stderr, "%s: no option %s here\n", argv[0], name);
            return bad(argv[0], ret_code);
        }
        if (option == 't' && !read_timeout(optarg, &ret_options->timeout_s)) {
            fprintf(stderr, "%s: \"%s\" is no number of seconds above 0\n", argv[0], optarg);
            return bad(argv[0], ret_code);
        }
        if (option == 'r')
            ret_options->sysroot = optarg;
        else if (option == 'o')
            ret_options->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
        else if (option == 'q')
            ret_options->quiet = true;
        else if (option == YAML)
            ret_options->yaml = true;
        else if (option == LIB_DIR)
            setenv("GDPROBE_LIB_DIR", optarg, 1);
    }
    if (strchr(allowed, '1') && optind < argc)
        ret_options->operand = argv[optind++];
    if (optind < argc) {
        fprintf(stderr, "%s: \"%s\" is too much\n", argv[0], argv[optind]);
        return bad(argv[0], ret_code);
    }
    if (!sys_open(ret_sys, ret_options->sysroot, &why)) {
        fprintf(stderr, "%s: %s\n", argv[0], why.text);
        *ret_code = EXIT_BAD_INPUT;
        return false;
    }
    return true;
}

bool options_write(const char *command, const char *path, void (*write)(void *what, FILE *to),
                   void *what)
{
    char part[SYS_PATH];
    if (!path) {
        write(what, stdout);
        if (fflush(stdout) == 0 && !ferror(stdout))
            return true;
        fprintf(stderr, "%s: standard output: %s\n", command, strerror(errno));
        return false;
    }
    int length = snprintf(part, sizeof part, "%s.part", path);
    FILE *file = length > 0 && (size_t)length < sizeof part ? fopen(part, "w") : NULL;
    if (!file) {
        fprintf(stderr, "%s: %s: %s\n", command, path, strerror(errno));
        return false;
    }
    write(what, file);
    bool fine = !ferror(file);
    fine = fclose(file) == 0 && fine;
    if (!fine || rename(part, path) != 0) {
        fprintf(stderr, "%s: %s: %s\n", command, path, strerror(errno));
        unlink(part);
        return false;
    }
    return true;
}
