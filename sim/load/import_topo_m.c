/* import_topo_m.c: the matrix of `nvidia-smi topo -m`.
 *
 *           GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity  GPU NUMA ID
 *     GPU0   X    NV18  PIX   0-31          0              N/A
 *     ...
 *     NIC Legend:
 *       NIC0: mlx5_0
 *
 * Colours, tabs or spaces, older names (mlx5_0 as column, SOC for SYS) and further columns are
 * understood. A matrix has classes, not a tree: devices within PIX of each other are put below one
 * switch, switches within PXB below another switch, and what is within PHB or NODE on one CPU; SYS
 * means different CPUs. NV# hides how the two GPUs are joined over PCIe: then what each is to the
 * NICs, or the NUMA column, decides. A matrix that no tree can have is refused. Speeds, widths, ACS
 * bits, the GPUs' generation and the NICs' rates are not in it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/import.h"

enum { MATRIX_MAX = 128, WORD_MAX = 40, MAX_GPU_LANES = 18 };

enum cell { CELL_SELF, CELL_PIX, CELL_PXB, CELL_PHB, CELL_NODE, CELL_SYS, CELL_NV, CELL_COUNT };

struct column {
    char name[WORD_MAX], label[TOPOLOGY_LABEL];
    bool is_gpu, seen;
    int numa;
    struct mark mark;
    int device;
};

struct matrix {
    struct topology *topology;
    struct diag_list *diag;
    struct column columns[MATRIX_MAX];
    size_t count;
    bool has_numa;
    uint8_t cells[MATRIX_MAX][MATRIX_MAX], lanes[MATRIX_MAX][MATRIX_MAX];
    int group[CELL_COUNT][MATRIX_MAX]; /* smallest member of the group at that distance */
    struct mark mark;
};

static const char *const cell_names[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "NV"};

/* ---- reading -------------------------------------------------------------------------------- */

/* The next word of a line, without colours; false at its end. */
static bool next_word(const char **at, const char *end, char *word)
{
    size_t length = 0;
    while (*at < end) {
        if (**at == '\x1b') {
            (*at)++;
            if (*at < end && **at == '[')
                (*at)++;
            while (*at < end && !isalpha((unsigned char)**at))
                (*at)++;
            *at += *at < end;
            continue;
        }
        if (isspace((unsigned char)**at)) {
            if (length > 0)
                break;
        } else if (length + 1 < WORD_MAX) {
            word[length++] = **at;
        }
        (*at)++;
    }
    word[length] = '\0';
    return length > 0;
}

static bool read_cell(const char *word, enum cell *ret_cell, unsigned *ret_lanes)
{
    long lanes;
    *ret_lanes = 0;
    if (strcmp(word, "SOC") == 0)
        word = "SYS";
    for (int i = 0; i < CELL_NV; i++)
        if (strcmp(word, cell_names[i]) == 0) {
            *ret_cell = (enum cell)i;
            return true;
        }
    if (strncmp(word, "NV", 2) != 0 || !import_number(word + 2, 1, 64, &lanes))
        return false;
    *ret_cell = CELL_NV;
    *ret_lanes = (unsigned)lanes;
    return true;
}

static bool is_gpu_name(const char *word)
{
    return strncmp(word, "GPU", 3) == 0 && isdigit((unsigned char)word[3]);
}

/* "GPU0 GPU1 NIC0 CPU Affinity ...": the columns. */
static bool read_header(struct matrix *matrix, const char *at, const char *end)
{
    char word[WORD_MAX];
    enum cell cell;
    unsigned lanes;
    const char *start = at;
    if (!next_word(&at, end, word) || !is_gpu_name(word) || !next_word(&at, end, word) ||
        read_cell(word, &cell, &lanes))
        return false;
    for (at = start; next_word(&at, end, word) && strcmp(word, "CPU") != 0;) {
        /* "GPU NUMA ID" and the like: no device of the matrix. */
        if (strcmp(word, "GPU") == 0 || strcmp(word, "NUMA") == 0)
            break;
        if (matrix->count == MATRIX_MAX) {
            diag_add(matrix->diag, matrix->mark, NULL, "more than %d columns", MATRIX_MAX);
            return true;
        }
        struct column *column = &matrix->columns[matrix->count++];
        *column = (struct column){.is_gpu = is_gpu_name(word), .numa = -1, .device = -1};
        topology_clean(column->name, sizeof column->name, word);
        if (!column->is_gpu && strncmp(word, "NIC", 3) != 0)
            topology_clean(column->label, sizeof column->label, word);
    }
    while (next_word(&at, end, word))
        matrix->has_numa = matrix->has_numa || strcmp(word, "NUMA") == 0;
    return true;
}

static int column_of(const struct matrix *matrix, const char *name)
{
    for (size_t i = 0; i < matrix->count; i++)
        if (strcmp(matrix->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static void read_row(struct matrix *matrix, int row, const char *at, const char *end)
{
    char word[WORD_MAX];
    struct column *column = &matrix->columns[row];
    if (column->seen) {
        diag_add(matrix->diag, matrix->mark, NULL, "the row of %s stands twice", column->name);
        return;
    }
    column->seen = true;
    column->mark = matrix->mark;
    for (size_t i = 0; i < matrix->count; i++) {
        enum cell cell;
        unsigned lanes;
        if (!next_word(&at, end, word)) {
            diag_add(matrix->diag, matrix->mark,
                     "was it broken by the terminal? Write it to a file: nvidia-smi topo -m > "
                     "topo.txt",
                     "the row of %s has %zu cells; the header names %zu devices", column->name, i,
                     matrix->count);
            return;
        }
        if (!read_cell(word, &cell, &lanes)) {
            char clean[WORD_MAX];
            topology_clean(clean, sizeof clean, word);
            diag_add(matrix->diag, matrix->mark, "known: X, NV#, PIX, PXB, PHB, NODE, SYS",
                     "the cell of %s and %s is \"%s\"", column->name, matrix->columns[i].name,
                     clean);
            return;
        }
        matrix->cells[row][i] = (uint8_t)cell;
        matrix->lanes[row][i] = (uint8_t)lanes;
    }
    long numa;
    if (matrix->has_numa && next_word(&at, end, word) && next_word(&at, end, word) &&
        import_number(word, 0, 4095, &numa))
        column->numa = (int)numa;
}

/* "NIC0: mlx5_0" of the legend. */
static void read_legend(struct matrix *matrix, const char *word, const char *at, const char *end)
{
    char name[WORD_MAX], label[WORD_MAX];
    size_t length = strlen(word);
    if (length < 2 || word[length - 1] != ':')
        return;
    memcpy(name, word, length - 1);
    name[length - 1] = '\0';
    int column = column_of(matrix, name);
    if (column >= 0 && !matrix->columns[column].is_gpu && next_word(&at, end, label))
        topology_clean(matrix->columns[column].label, sizeof matrix->columns[column].label, label);
}

static void read_lines(struct matrix *matrix, const struct import_text *in)
{
    const char *at = in->text, *stop = in->text + in->length;
    size_t before = diag_count(matrix->diag);
    while (at < stop && diag_count(matrix->diag) == before) {
        const char *end = memchr(at, '\n', (size_t)(stop - at)), *rest = at;
        char word[WORD_MAX];
        end = end ? end : stop;
        matrix->mark.line++;
        if (matrix->count == 0) {
            read_header(matrix, at, end);
        } else if (next_word(&rest, end, word)) {
            int row = column_of(matrix, word);
            if (row >= 0)
                read_row(matrix, row, rest, end);
            else
                read_legend(matrix, word, rest, end);
        }
        at = end + (end < stop);
    }
    if (diag_count(matrix->diag) > before)
        return;
    if (matrix->count == 0)
        diag_add(matrix->diag, (struct mark){in->name, 0, 0}, NULL,
                 "there is no line that names GPU0 and its neighbours");
    for (size_t i = 0; i < matrix->count; i++)
        if (!matrix->columns[i].seen)
            diag_add(matrix->diag, (struct mark){in->name, 0, 0}, "was the text cut off?",
                     "there is no row of %s", matrix->columns[i].name);
}

/* ---- what the cells say together ------------------------------------------------------------ */

static void check_symmetry(struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        for (size_t j = 0; j <= i; j++) {
            const struct column *a = &matrix->columns[i], *b = &matrix->columns[j];
            if ((i == j) != (matrix->cells[i][j] == CELL_SELF))
                diag_add(matrix->diag, a->mark, NULL,
                         "%s and %s: X stands where, and only where, a "
                         "device meets itself",
                         a->name, b->name);
            else if (matrix->cells[i][j] != matrix->cells[j][i] ||
                     matrix->lanes[i][j] != matrix->lanes[j][i])
                diag_add(matrix->diag, a->mark, NULL,
                         "the matrix contradicts itself: %s to %s is not what %s to %s is", a->name,
                         b->name, b->name, a->name);
            else if (matrix->cells[i][j] == CELL_NV && !(a->is_gpu && b->is_gpu))
                diag_add(matrix->diag, a->mark, NULL, "%s and %s: NVLink joins GPUs only", a->name,
                         b->name);
        }
}

/* Group at each distance whatever is within it, directly or by others. */
static void make_groups(struct matrix *matrix)
{
    for (int level = CELL_PIX; level <= CELL_NODE; level++) {
        int *group = matrix->group[level];
        for (size_t i = 0; i < matrix->count; i++)
            group[i] = (int)i;
        for (size_t i = 0; i < matrix->count; i++)
            for (size_t j = 0; j < i; j++) {
                if (matrix->cells[i][j] > level || group[i] == group[j])
                    continue;
                int low = group[i] < group[j] ? group[i] : group[j];
                int high = group[i] < group[j] ? group[j] : group[i];
                for (size_t k = 0; k < matrix->count; k++)
                    if (group[k] == high)
                        group[k] = low;
            }
    }
}

/* In a tree, what is near to one and the same is near to each other. */
static void check_groups(struct matrix *matrix)
{
    size_t before = diag_count(matrix->diag);
    for (int level = CELL_PIX; level <= CELL_NODE; level++)
        for (size_t i = 0; i < matrix->count; i++)
            for (size_t j = 0; j < i; j++) {
                int cell = matrix->cells[i][j];
                if (diag_count(matrix->diag) > before ||
                    matrix->group[level][i] != matrix->group[level][j] || cell == CELL_NV ||
                    cell <= level)
                    continue;
                diag_add(matrix->diag, matrix->columns[i].mark, NULL,
                         "no tree has this matrix: %s and %s are %s to each other, but joined by "
                         "others that are all within %s",
                         matrix->columns[j].name, matrix->columns[i].name, cell_names[cell],
                         cell_names[level]);
            }
}

/* ---- building ------------------------------------------------------------------------------- */

/* The NUMA node that a group at distance NODE names; -1: none, or several. */
static int group_numa(struct matrix *matrix, size_t member)
{
    int numa = -1;
    for (size_t i = 0; i < matrix->count; i++) {
        const struct column *column = &matrix->columns[i];
        if (matrix->group[CELL_NODE][i] != matrix->group[CELL_NODE][member] || column->numa < 0)
            continue;
        if (numa >= 0 && numa != column->numa) {
            topology_note(matrix->topology, TOPOLOGY_FOUND, -1, column->mark,
                          "%.20s has another NUMA node than devices within NODE of it: the classes "
                          "are followed",
                          column->name);
            return -1;
        }
        numa = column->numa;
    }
    return numa;
}

/* Whether some member of the one group is SYS to some member of the other. */
static bool groups_apart(const struct matrix *matrix, int a, int b)
{
    for (size_t i = 0; i < matrix->count; i++)
        for (size_t j = 0; j < matrix->count; j++)
            if (matrix->group[CELL_NODE][i] == a && matrix->group[CELL_NODE][j] == b &&
                matrix->cells[i][j] == CELL_SYS)
                return true;
    return false;
}

/* The CPU of each group; groups of which nothing says that they are apart share one. */
static bool place_cpus(struct matrix *matrix, int cpus[])
{
    struct topology *topology = matrix->topology;
    for (size_t i = 0; i < matrix->count; i++) {
        int group = matrix->group[CELL_NODE][i], numa = group_numa(matrix, i);
        cpus[i] = -1;
        if (group != (int)i) {
            cpus[i] = cpus[group];
            continue;
        }
        for (size_t j = 0; j < i && cpus[i] < 0; j++) {
            int other = topology->devices[cpus[j]].numa;
            bool apart = groups_apart(matrix, group, matrix->group[CELL_NODE][j]);
            for (size_t k = 0; k < i && !apart; k++)
                apart =
                    cpus[k] == cpus[j] && groups_apart(matrix, group, matrix->group[CELL_NODE][k]);
            if (apart && numa >= 0 && other == numa)
                topology_note(topology, TOPOLOGY_FOUND, -1, matrix->columns[i].mark,
                              "%.20s and %.20s are SYS to each other and name the same NUMA node: "
                              "put on different CPUs",
                              matrix->columns[i].name, matrix->columns[j].name);
            if (!apart && (numa < 0 || other < 0 || numa == other))
                cpus[i] = cpus[j];
        }
        if (cpus[i] >= 0) {
            if (numa < 0)
                topology_note(
                    topology, TOPOLOGY_ASSUMED, -1, matrix->columns[i].mark,
                    "%.20s names no NUMA node, and nothing says that it is on a socket of "
                    "its own: put on the CPU of the others",
                    matrix->columns[i].name);
            continue;
        }
        if (topology_count(topology, DEVICE_CPU) == TOPOLOGY_CPUS) {
            diag_add(matrix->diag, matrix->columns[i].mark, NULL, "more than %d CPUs",
                     TOPOLOGY_CPUS);
            return false;
        }
        cpus[i] = topology_add(topology, DEVICE_CPU, -1, matrix->columns[i].mark, matrix->diag);
        if (cpus[i] < 0)
            return false;
        topology->devices[cpus[i]].numa = numa;
    }
    return true;
}

static size_t group_size(const struct matrix *matrix, int level, int group)
{
    size_t size = 0;
    for (size_t i = 0; i < matrix->count; i++)
        size += matrix->group[level][i] == group;
    return size;
}

/* The switch of the group at a distance, below `parent`; `parent` itself for a group of one. */
static int switch_of(struct matrix *matrix, int level, size_t member, int parent, int switches[])
{
    int group = matrix->group[level][member];
    if (parent < 0 || group_size(matrix, level, group) < 2)
        return parent;
    /* A PXB group that is one PIX group is one switch. */
    if (level == CELL_PXB && group_size(matrix, CELL_PIX, matrix->group[CELL_PIX][member]) ==
                                 group_size(matrix, CELL_PXB, group))
        return parent;
    if (switches[group] < 0)
        switches[group] = topology_add(matrix->topology, DEVICE_PCIE_SWITCH, parent,
                                       matrix->columns[member].mark, matrix->diag);
    return switches[group];
}

static void build_tree(struct matrix *matrix)
{
    int cpus[MATRIX_MAX], pix[MATRIX_MAX], pxb[MATRIX_MAX];
    if (!place_cpus(matrix, cpus))
        return;
    for (size_t i = 0; i < matrix->count; i++)
        pix[i] = pxb[i] = -1;
    for (size_t i = 0; i < matrix->count; i++) {
        struct column *column = &matrix->columns[i];
        int above = switch_of(matrix, CELL_PXB, i, cpus[i], pxb);
        above = switch_of(matrix, CELL_PIX, i, above, pix);
        if (above < 0)
            return;
        column->device = topology_add(matrix->topology, column->is_gpu ? DEVICE_GPU : DEVICE_NIC,
                                      above, column->mark, matrix->diag);
        if (column->device < 0)
            return;
        struct topology_device *device = &matrix->topology->devices[column->device];
        long order;
        if (import_number(column->name + (strlen(column->name) > 3 ? 3 : 0), 0, 4095, &order))
            device->order = (int)order;
        device->numa = column->numa;
        memcpy(device->label, column->label, sizeof device->label);
    }
    matrix->topology->fitted_tree = true;
}

static void build_nvlinks(struct matrix *matrix)
{
    unsigned lanes = 0, most = 0;
    size_t gpus = 0;
    bool all = true;
    int nvswitch = -1;
    for (size_t i = 0; i < matrix->count; i++) {
        unsigned sum = 0;
        if (!matrix->columns[i].is_gpu)
            continue;
        gpus++;
        for (size_t j = 0; j < matrix->count; j++) {
            if (i == j || !matrix->columns[j].is_gpu)
                continue;
            lanes = lanes ? lanes : matrix->lanes[i][j];
            all = all && matrix->lanes[i][j] == lanes && lanes > 0;
            sum += matrix->lanes[i][j];
        }
        most = sum > most ? sum : most;
    }
    /* As many links to each as no GPU has: they lead to switches. */
    if (all && gpus > 2 && most > MAX_GPU_LANES)
        nvswitch = topology_add(matrix->topology, DEVICE_NVSWITCH, -1, matrix->mark, matrix->diag);
    else if (most > MAX_GPU_LANES)
        topology_note(matrix->topology, TOPOLOGY_FOUND, -1, matrix->mark,
                      "NVLinks are more than the 18 of one GPU, but not the same for all: taken as "
                      "links from GPU to GPU");
    matrix->topology->maybe_nvswitch = all && gpus == 2;
    for (size_t i = 0; i < matrix->count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct column *column = &matrix->columns[i];
            if (matrix->lanes[i][j] == 0 || nvswitch >= 0)
                continue;
            struct topology_pair *pair =
                topology_pair(matrix->topology, LINK_NVLINK, matrix->columns[j].device,
                              column->device, column->mark, matrix->diag);
            if (!pair)
                return;
            pair->count = matrix->lanes[i][j];
        }
    for (size_t i = 0; i < matrix->count && nvswitch >= 0; i++)
        if (matrix->columns[i].is_gpu) {
            struct topology_pair *pair =
                topology_pair(matrix->topology, LINK_NVLINK, matrix->columns[i].device, nvswitch,
                              matrix->columns[i].mark, matrix->diag);
            if (!pair)
                return;
            pair->count = lanes;
        }
}

enum status import_topo_m(const struct import_text *in, struct topology *topology,
                          struct diag_list *diag)
{
    size_t before = diag_count(diag);
    struct matrix *matrix = calloc(1, sizeof *matrix);
    if (!matrix)
        return STATUS_NOMEM;
    matrix->topology = topology;
    matrix->diag = diag;
    matrix->mark = (struct mark){in->name, 0, 1};
    read_lines(matrix, in);
    if (diag_count(diag) == before)
        check_symmetry(matrix);
    if (diag_count(diag) == before) {
        make_groups(matrix);
        check_groups(matrix);
    }
    matrix->mark.line = 0;
    if (diag_count(diag) == before)
        build_tree(matrix);
    if (diag_count(diag) == before)
        build_nvlinks(matrix);
    free(matrix);
    return diag_count(diag) > before ? STATUS_INPUT : STATUS_OK;
}
