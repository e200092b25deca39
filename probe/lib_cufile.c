/* lib_cufile.c: see lib_cufile.h. */
#include <string.h>

#include "probe/lib_cufile.h"

#define NEEDED(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct cufile, name), true                                                 \
    }
static const struct lib_symbol symbols[] = {
    NEEDED(cuFileDriverOpen),     NEEDED(cuFileDriverClose),
    NEEDED(cuFileHandleRegister), NEEDED(cuFileHandleDeregister),
    NEEDED(cuFileBufRegister),    NEEDED(cuFileBufDeregister),
    NEEDED(cuFileRead),
};

bool cufile_open(struct cufile *cufile, struct why *ret_why)
{
    static const char *const sonames[] = {"libcufile.so.0", "libcufile.so", NULL};
    memset(cufile, 0, sizeof *cufile);
    if (!lib_open(sonames, symbols, sizeof symbols / sizeof symbols[0], cufile, &cufile->library,
                  ret_why))
        return false;
    struct cufile_error error = cufile->cuFileDriverOpen();
    if (error.code != 0)
        why_set(ret_why, "cuFileDriverOpen: code %d", error.code);
    return error.code == 0;
}

void cufile_close(struct cufile *cufile)
{
    cufile->cuFileDriverClose();
}
