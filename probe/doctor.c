/* doctor.c: which check belongs to which path and to which devices. See doctor.h. */
#include "probe/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "probe/doctor_checks.h"

/* The devices of a machine that transfers run between, as indices into facts->pci. */
struct parties {
    size_t *gpus, gpu_count, *nics, nic_count, *drives, drive_count;
};

struct exam {
    const struct facts *facts;
    const struct parties *parties;
    struct doctor_result *result;
};

/* ---- collecting ------------------------------------------------------------------------------ */

static struct doctor_item *item_of(struct doctor_result *result, enum doctor_row row,
                                   enum doctor_effect effect)
{
    for (size_t i = 0; i < result->count; i++)
        if (result->items[i].row == row)
            return &result->items[i];
    struct doctor_item *item = &result->items[result->count++]; /* each path has fewer than fit */
    *item = (struct doctor_item){.row = row, .effect = effect, .holds = YES};
    return item;
}

/* The worse, the higher. */
static int rank(int holds)
{
    return holds == NO ? 2 : holds == UNKNOWN ? 1 : 0;
}

static void note(const struct exam *exam, enum doctor_row row, enum doctor_effect effect,
                 struct finding finding)
{
    struct doctor_item *item = item_of(exam->result, row, effect);
    item->checked++;
    if (item->checked > 1 && rank(finding.holds) < rank(item->holds))
        return;
    if (item->checked > 1 && rank(finding.holds) > rank(item->holds))
        item->like_it = item->sentence_count = item->more = 0;
    item->holds = finding.holds;
    item->like_it++;
    for (size_t i = 0; i < item->sentence_count; i++)
        if (strcmp(item->sentences[i], finding.sentence) == 0)
            return;
    if (item->sentence_count < DOCTOR_SENTENCES)
        memcpy(item->sentences[item->sentence_count++], finding.sentence, sizeof finding.sentence);
    else
        item->more++;
}

static void in_a_run(const struct exam *exam, enum doctor_row row)
{
    struct doctor_item *item = item_of(exam->result, row, EFFECT_NOTED);
    item->in_a_run = true;
    item->holds = UNKNOWN;
}

static void conclude(struct doctor_result *result)
{
    result->holds = YES;
    result->slower = false;
    for (size_t i = 0; i < result->count; i++) {
        const struct doctor_item *item = &result->items[i];
        if (item->in_a_run || item->effect == EFFECT_NOTED || item->holds == YES)
            continue;
        if (item->effect == EFFECT_SLOWS && item->holds == NO)
            result->slower = true;
        else if (item->holds == NO)
            result->holds = NO;
        else if (result->holds == YES)
            result->holds = UNKNOWN;
    }
}

/* ---- parties --------------------------------------------------------------------------------- */

/* A container sees all GPUs on the PCI bus, and may use those that the driver names. */
static bool is_mine(const struct facts *facts, size_t gpu)
{
    return facts->driver.gpu_count == 0 ||
           driver_find(&facts->driver, facts->pci.devices[gpu].busid) >= 0;
}

static bool find_parties(const struct facts *facts, struct parties *ret_parties)
{
    size_t room = facts->pci.count ? facts->pci.count : 1;
    *ret_parties = (struct parties){.gpus = calloc(room, sizeof(size_t)),
                                    .nics = calloc(room, sizeof(size_t)),
                                    .drives = calloc(room, sizeof(size_t))};
    if (!ret_parties->gpus || !ret_parties->nics || !ret_parties->drives)
        return false;
    for (size_t i = 0; i < facts->pci.count; i++) {
        const struct pci_device *device = &facts->pci.devices[i];
        if (device->is_virtual)
            continue;
        if (device->kind == PCI_GPU && is_mine(facts, i))
            ret_parties->gpus[ret_parties->gpu_count++] = i;
        else if (facts_rdma(facts, i) >= 0 && facts->host.nics[facts_rdma(facts, i)].active != NO)
            ret_parties->nics[ret_parties->nic_count++] = i;
        else if (device->kind == PCI_NVME)
            ret_parties->drives[ret_parties->drive_count++] = i;
    }
    return true;
}

static void free_parties(struct parties *parties)
{
    free(parties->gpus);
    free(parties->nics);
    free(parties->drives);
}

/* The peer that GPU number `at` would use: the nearest; of several equally near ones, GPUs that
 * have the same choice take turns, as rails are dealt. */
static size_t nearest(const struct exam *exam, size_t at, const size_t *peers, size_t count)
{
    const struct pci *pci = &exam->facts->pci;
    const struct parties *parties = exam->parties;
    size_t best = 0, equal = 0, turn = 0;
    for (size_t i = 1; i < count; i++)
        if (pci_distance(pci, parties->gpus[at], peers[i]) <
            pci_distance(pci, parties->gpus[at], peers[best]))
            best = i;
    enum pci_distance distance = pci_distance(pci, parties->gpus[at], peers[best]);
    for (size_t i = best; i < count; i++)
        equal += pci_distance(pci, parties->gpus[at], peers[i]) == distance;
    for (size_t g = 0; g < at; g++)
        turn += pci_distance(pci, parties->gpus[g], peers[best]) == distance;
    turn %= equal;
    for (size_t i = best; i < count; i++)
        if (pci_distance(pci, parties->gpus[at], peers[i]) == distance && turn-- == 0)
            return peers[i];
    return peers[best];
}

/* ---- what the paths share -------------------------------------------------------------------- */

/* False when there is nothing to look at. */
static bool examine_gpus(const struct exam *exam, size_t needed)
{
    const struct facts *facts = exam->facts;
    const struct parties *parties = exam->parties;
    if (parties->gpu_count == 0) {
        bool seen = facts->pci.devices && facts->pci.count > 0;
        note(exam, DOCTOR_GPU, EFFECT_BREAKS,
             seen ? finding(NO, "none of %zu PCI functions is an NVIDIA GPU", facts->pci.count)
                  : finding(UNKNOWN, "%s",
                            *facts->pci.why.text ? facts->pci.why.text
                                                 : "no PCI functions are shown"));
        return false;
    }
    for (size_t i = 0; i < parties->gpu_count; i++)
        note(exam, DOCTOR_GPU, EFFECT_BREAKS, check_gpu(facts, parties->gpus[i]));
    for (size_t i = 0; i < facts->pci.count; i++)
        if (facts->pci.devices[i].kind == PCI_GPU && !is_mine(facts, i))
            note(exam, DOCTOR_GPU, EFFECT_BREAKS,
                 finding(facts->pci.devices[i].config.silent ? NO : YES,
                         "GPU %s: the driver does not name it%s", facts->pci.devices[i].busid,
                         facts->pci.devices[i].config.silent ? ", and it does not answer"
                                                             : "; left out"));
    exam->result->no_pair = parties->gpu_count < needed;
    return parties->gpu_count >= needed;
}

/* The fabric between two functions. */
static void examine_way(const struct exam *exam, size_t from, size_t to)
{
    const struct facts *facts = exam->facts;
    if (pci_distance(&facts->pci, from, to) > PCI_PXB) {
        note(exam, DOCTOR_ROOT_COMPLEX, EFFECT_BREAKS, check_root_complex(facts, from, to));
        in_a_run(exam, DOCTOR_ROOT_CEILING);
    }
    note(exam, DOCTOR_ACS, EFFECT_SLOWS, check_acs(facts, from, to));
    note(exam, DOCTOR_IOMMU, EFFECT_BREAKS, check_iommu(facts, from, to));
    note(exam, DOCTOR_LINK_TRAINED, EFFECT_SLOWS, check_links(facts, from, to));
}

/* ---- the paths ------------------------------------------------------------------------------- */

/* NCCL's level for GPUs: PXB; SYS on AMD with up to two of them. */
static enum pci_distance p2p_level(const struct exam *exam)
{
    return exam->parties->gpu_count <= 2 &&
                   strcmp(exam->facts->host.cpu.vendor, "AuthenticAMD") == 0
               ? PCI_SYS
               : PCI_PXB;
}

static void examine_p2p(const struct exam *exam)
{
    const struct facts *facts = exam->facts;
    const struct parties *parties = exam->parties;
    if (!examine_gpus(exam, 2))
        return;
    note(exam, DOCTOR_SETTINGS, EFFECT_BREAKS, check_settings(facts, false));
    for (size_t i = 0; i < parties->gpu_count; i++)
        for (size_t j = i + 1; j < parties->gpu_count; j++) {
            size_t a = parties->gpus[i], b = parties->gpus[j];
            struct finding link = facts_nvlink(facts, a, b), named = link;
            snprintf(named.sentence, sizeof named.sentence, "GPUs %s - %s: %.180s",
                     facts->pci.devices[a].busid, facts->pci.devices[b].busid, link.sentence);
            note(exam, DOCTOR_NVLINK, EFFECT_NOTED, named);
            struct finding access = facts_peer_access(facts, a, b);
            snprintf(named.sentence, sizeof named.sentence, "GPUs %s - %s: %.180s",
                     facts->pci.devices[a].busid, facts->pci.devices[b].busid, access.sentence);
            named.holds = access.holds;
            note(exam, DOCTOR_P2P_DRIVER, EFFECT_BREAKS, named);
            if (link.holds == YES)
                continue; /* then PCIe does not matter to the pair */
            note(exam, DOCTOR_P2P_DISTANCE, EFFECT_BREAKS,
                 check_distance(facts, a, b, p2p_level(exam), "NCCL_P2P_LEVEL"));
            examine_way(exam, a, b);
            in_a_run(exam, DOCTOR_DUPLEX);
        }
}

/* One NIC with an active port is enough; those without are only told. */
static void examine_nics(const struct exam *exam)
{
    const struct host *host = &exam->facts->host;
    bool usable = exam->parties->nic_count > 0;
    size_t noted = 0;
    for (size_t i = 0; i < host->nic_count; i++) {
        const struct host_nic *nic = &host->nics[i];
        if (!nic->rdma || nic->device < 0)
            continue;
        noted++;
        if (nic->active == YES)
            note(exam, DOCTOR_NIC, EFFECT_BREAKS,
                 finding(YES, "%s: %s", nic->name, nic->rate[0] ? nic->rate : "active"));
        else if (nic->active == NO)
            note(exam, DOCTOR_NIC, EFFECT_BREAKS,
                 finding(usable ? YES : NO, "%s: no port is active%s", nic->name,
                         usable ? "; left out" : ""));
        else
            note(exam, DOCTOR_NIC, EFFECT_BREAKS,
                 finding(UNKNOWN, "%s: %s", nic->name, nic->why.text));
    }
    if (noted == 0)
        note(exam, DOCTOR_NIC, EFFECT_BREAKS,
             finding(NO, "/sys/class/infiniband names no device on the PCI bus"));
}

static void examine_rdma(const struct exam *exam)
{
    const struct facts *facts = exam->facts;
    const struct parties *parties = exam->parties;
    bool gpus = examine_gpus(exam, 1);
    examine_nics(exam);
    if (!gpus)
        return;
    note(exam, DOCTOR_PEER_MODULE, EFFECT_BREAKS, check_peer_memory(facts));
    note(exam, DOCTOR_SETTINGS, EFFECT_BREAKS, check_settings(facts, true));
    for (size_t i = 0; i < parties->gpu_count; i++) {
        size_t gpu = parties->gpus[i];
        note(exam, DOCTOR_GPU_RDMA, EFFECT_BREAKS, check_gpu_rdma(facts, gpu));
        note(exam, DOCTOR_BAR1, EFFECT_BREAKS, check_bar1(facts, gpu));
        if (parties->nic_count == 0)
            continue;
        size_t nic = nearest(exam, i, parties->nics, parties->nic_count);
        note(exam, DOCTOR_DISTANCE, EFFECT_BREAKS,
             check_distance(facts, gpu, nic, PCI_PXB, "NCCL_NET_GDR_LEVEL"));
        examine_way(exam, gpu, nic);
        note(exam, DOCTOR_NIC_SLOT, EFFECT_SLOWS, check_slot(facts, nic));
        note(exam, DOCTOR_RELAXED_ORDERING, EFFECT_SLOWS, check_relaxed_ordering(facts, nic, gpu));
    }
    in_a_run(exam, DOCTOR_CUDA_BUFFER);
    in_a_run(exam, DOCTOR_REGISTERED);
    in_a_run(exam, DOCTOR_READ_CREDITS);
    in_a_run(exam, DOCTOR_DUPLEX);
}

static struct finding check_compat(const struct host *host)
{
    if (host->cufile_compat == UNKNOWN)
        return finding(UNKNOWN, "%s (cuFile allows it unless told otherwise)",
                       host->cufile_why.text);
    return finding(!host->cufile_compat, "/etc/cufile.json: allow_compat_mode is %s",
                   host->cufile_compat ? "true" : "false");
}

static void examine_storage(const struct exam *exam)
{
    const struct facts *facts = exam->facts;
    const struct parties *parties = exam->parties;
    bool gpus = examine_gpus(exam, 1);
    struct finding mounts = facts_gds_mount(facts);
    note(
        exam, DOCTOR_DRIVE, EFFECT_BREAKS,
        parties->drive_count > 0
            ? finding(YES, "%zu NVMe drive%s on the PCI bus", parties->drive_count,
                      parties->drive_count == 1 ? "" : "s")
            : finding(mounts.holds == NO ? NO : UNKNOWN, "no NVMe drive; %.200s", mounts.sentence));
    note(exam, DOCTOR_NVIDIA_FS, EFFECT_BREAKS, facts_module(facts, "nvidia_fs"));
    note(exam, DOCTOR_FILESYSTEM, EFFECT_BREAKS, mounts);
    note(exam, DOCTOR_COMPAT, EFFECT_NOTED, check_compat(&facts->host));
    if (facts->host.nvidia_fs_stats)
        note(exam, DOCTOR_SERVED, EFFECT_NOTED, check_served(facts));
    in_a_run(exam, DOCTOR_ALIGNED);
    for (size_t i = 0; gpus && i < parties->gpu_count; i++) {
        size_t gpu = parties->gpus[i];
        note(exam, DOCTOR_BAR1, EFFECT_BREAKS, check_bar1(facts, gpu));
        if (parties->drive_count == 0)
            continue;
        size_t drive = nearest(exam, i, parties->drives, parties->drive_count);
        note(exam, DOCTOR_STORAGE_DISTANCE, EFFECT_SLOWS,
             check_distance(facts, gpu, drive, PCI_PXB, NULL));
        examine_way(exam, gpu, drive);
    }
}

/* GPU-initiated networking stands on GPUDirect RDMA. */
static void examine_async(const struct exam *exam, const struct doctor_result *rdma)
{
    const struct parties *parties = exam->parties;
    if (!examine_gpus(exam, 1))
        return;
    note(exam, DOCTOR_RDMA_PATH, EFFECT_BREAKS,
         finding(rdma->holds, "%s",
                 rdma->holds == YES  ? "nothing stands against it"
                 : rdma->holds == NO ? "it is broken"
                                     : "something of it is unknown"));
    for (size_t i = 0; i < parties->gpu_count; i++)
        note(exam, DOCTOR_STREAM_MEMOPS, EFFECT_BREAKS,
             check_stream_memops(exam->facts, parties->gpus[i]));
    note(exam, DOCTOR_DOORBELL, EFFECT_SLOWS, check_doorbell(exam->facts));
}

static void examine_gdrcopy(const struct exam *exam)
{
    const struct parties *parties = exam->parties;
    bool gpus = examine_gpus(exam, 1);
    note(exam, DOCTOR_GDRDRV, EFFECT_BREAKS, facts_module(exam->facts, "gdrdrv"));
    for (size_t i = 0; gpus && i < parties->gpu_count; i++)
        note(exam, DOCTOR_BAR1, EFFECT_BREAKS, check_bar1(exam->facts, parties->gpus[i]));
}

bool doctor_examine(const struct facts *facts, struct doctor *ret_doctor)
{
    struct parties parties;
    *ret_doctor = (struct doctor){.vm = facts->host.vm == YES};
    if (!find_parties(facts, &parties)) {
        free_parties(&parties);
        return false;
    }
    struct exam exams[DOCTOR_PATHS];
    for (size_t i = 0; i < DOCTOR_PATHS; i++)
        exams[i] = (struct exam){facts, &parties, &ret_doctor->paths[i]};
    examine_p2p(&exams[DOCTOR_P2P]);
    examine_rdma(&exams[DOCTOR_RDMA]);
    conclude(&ret_doctor->paths[DOCTOR_RDMA]);
    examine_storage(&exams[DOCTOR_STORAGE]);
    examine_async(&exams[DOCTOR_ASYNC], &ret_doctor->paths[DOCTOR_RDMA]);
    examine_gdrcopy(&exams[DOCTOR_GDRCOPY]);
    for (size_t i = 0; i < DOCTOR_PATHS; i++)
        conclude(&ret_doctor->paths[i]);
    free_parties(&parties);
    return true;
}

bool doctor_found(const struct doctor *doctor)
{
    for (size_t p = 0; p < DOCTOR_PATHS; p++)
        if (doctor->paths[p].holds == NO || doctor->paths[p].slower)
            return true;
    return false;
}
