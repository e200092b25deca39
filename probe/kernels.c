/* kernels.c: the GPU programs of `gdprobe bench`, as PTX that the driver compiles when it loads
 * them; so no compiler is needed, here or there.
 *
 *   copy16(dst, src, n)   copies n times 16 B with the SMs; dst or src may be another GPU's memory
 *                         or the host's
 *   add_f32(a, b, n)      a += b, n times four floats: the reduction of an allreduce
 *   empty()               nothing
 *   flag_echo(flag, ack, rounds)  waits until flag reaches 1, 2, ... and writes each to ack. Gives
 *                         up after 2^24 reads of one flag (some ten seconds), so that a host that
 *                         died leaves no GPU busy for ever.
 */
#include "probe/bench.h"

/* Registers: %rd1 index, %rd2 stride, %rd3 n, %rd4 first address, %rd5 second. */
#define GRID_STRIDE                                                                                \
    "  mov.u32 %r1, %ctaid.x;\n"                                                                   \
    "  mov.u32 %r2, %ntid.x;\n"                                                                    \
    "  mov.u32 %r3, %tid.x;\n"                                                                     \
    "  mov.u32 %r4, %nctaid.x;\n"                                                                  \
    "  mul.wide.u32 %rd1, %r1, %r2;\n"                                                             \
    "  cvt.u64.u32 %rd6, %r3;\n"                                                                   \
    "  add.u64 %rd1, %rd1, %rd6;\n"                                                                \
    "  mul.wide.u32 %rd2, %r2, %r4;\n"                                                             \
    "  shl.b64 %rd7, %rd1, 4;\n"                                                                   \
    "  add.u64 %rd4, %rd4, %rd7;\n"                                                                \
    "  add.u64 %rd5, %rd5, %rd7;\n"                                                                \
    "  shl.b64 %rd8, %rd2, 4;\n"

#define NEXT                                                                                       \
    "  add.u64 %rd1, %rd1, %rd2;\n"                                                                \
    "  add.u64 %rd4, %rd4, %rd8;\n"                                                                \
    "  add.u64 %rd5, %rd5, %rd8;\n"                                                                \
    "  bra LOOP;\n"                                                                                \
    "DONE:\n"                                                                                      \
    "  ret;\n"                                                                                     \
    "}\n"

const char *const bench_ptx =
    ".version 6.4\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry copy16(.param .u64 dst, .param .u64 src, .param .u64 n)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<9>;\n"
    "  .reg .b64 %rd<9>;\n"
    "  ld.param.u64 %rd4, [dst];\n"
    "  ld.param.u64 %rd5, [src];\n"
    "  ld.param.u64 %rd3, [n];\n" GRID_STRIDE "LOOP:\n"
    "  setp.ge.u64 %p1, %rd1, %rd3;\n"
    "  @%p1 bra DONE;\n"
    "  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd5];\n"
    "  st.global.v4.u32 [%rd4], {%r5, %r6, %r7, %r8};\n" NEXT
    ".visible .entry add_f32(.param .u64 a, .param .u64 b, .param .u64 n)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<5>;\n"
    "  .reg .f32 %f<9>;\n"
    "  .reg .b64 %rd<9>;\n"
    "  ld.param.u64 %rd4, [a];\n"
    "  ld.param.u64 %rd5, [b];\n"
    "  ld.param.u64 %rd3, [n];\n" GRID_STRIDE "LOOP:\n"
    "  setp.ge.u64 %p1, %rd1, %rd3;\n"
    "  @%p1 bra DONE;\n"
    "  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];\n"
    "  ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%rd5];\n"
    "  add.f32 %f1, %f1, %f5;\n"
    "  add.f32 %f2, %f2, %f6;\n"
    "  add.f32 %f3, %f3, %f7;\n"
    "  add.f32 %f4, %f4, %f8;\n"
    "  st.global.v4.f32 [%rd4], {%f1, %f2, %f3, %f4};\n" NEXT ".visible .entry empty()\n"
    "{\n"
    "  ret;\n"
    "}\n"
    ".visible .entry flag_echo(.param .u64 flag, .param .u64 ack, .param .u32 rounds)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<5>;\n"
    "  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [flag];\n"
    "  ld.param.u64 %rd2, [ack];\n"
    "  ld.param.u32 %r2, [rounds];\n"
    "  mov.u32 %r1, 1;\n"
    "ROUND:\n"
    "  setp.gt.u32 %p1, %r1, %r2;\n"
    "  @%p1 bra DONE;\n"
    "  mov.u32 %r4, 0;\n"
    "SPIN:\n"
    "  add.u32 %r4, %r4, 1;\n"
    "  setp.gt.u32 %p1, %r4, 16777216;\n"
    "  @%p1 bra DONE;\n"
    "  ld.volatile.global.u32 %r3, [%rd1];\n"
    "  setp.lt.u32 %p1, %r3, %r1;\n"
    "  @%p1 bra SPIN;\n"
    "  st.volatile.global.u32 [%rd2], %r1;\n"
    "  membar.sys;\n"
    "  add.u32 %r1, %r1, 1;\n"
    "  bra ROUND;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n";
