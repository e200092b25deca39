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

const char *cufile_error_text(int code)
{
    static const struct {
        int code;
        const char *text;
    } texts[] = {
        {5001, "nvidia-fs is not loaded and the compatible mode is not allowed"},
        {5007, "not supported on this platform"},
        {5008, "not supported for this file"},
        {5009, "not supported on this GPU"},
        {5011, "CUDA failed"},
        {5018, "not this type of file"},
        {5020, "the file was not opened with O_DIRECT"},
        {5025, "permission denied"},
        {5027, "the file descriptor is not registered (cuFile asks udev: is /run/udev there?)"},
        {5033, "nvidia-fs could not be set up"},
        {5034, "disabled by its configuration for this file"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].code == code)
            return texts[i].text;
    return "see cufile.h";
}

bool cufile_open(struct cufile *cufile, struct why *ret_why)
{
    static const char *const sonames[] = {"libcufile.so.0", "libcufile.so", NULL};
    memset(cufile, 0, sizeof *cufile);
    if (!lib_open(sonames, symbols, sizeof symbols / sizeof symbols[0], cufile, &cufile->library,
                  ret_why))
        return false;
    struct cufile_error error = cufile->cuFileDriverOpen();
    if (error.code != 0)
        why_set(ret_why, "cuFileDriverOpen: code %d, %s", error.code,
                cufile_error_text(error.code));
    return error.code == 0;
}

void cufile_close(struct cufile *cufile)
{
    cufile->cuFileDriverClose();
}
