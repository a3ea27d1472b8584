/* A plugin of qemu-user that adds up the cycles of what a program executes, by the documented timing of a core.

   Cortex-M0+ (DDI 0484C, 3.3): 2 cycles for a load, a store or a taken branch, 1 and 1 a register for several of
   them, 3 for a call, else 1. Cortex-M4 (DDI 0439D, 3.3): the same, but 3 for a branch, 7 for an integer division and 14 for
   one of reals or a root. RV32IMC: 1, 2 for a load, 3 for a branch or jump, 8 for a division. No wait states of memory. The
   declarations are those of version 1 of qemu's interface. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_callback)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*end_callback)(qemu_plugin_id_t, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, tb_callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, end_callback, void *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

int qemu_plugin_version = 1;

static uint64_t cycles, instructions;
static enum { M0, M4, RISCV } core;

static int ones(unsigned bits) {
  int n = 0;
  for (; bits; bits &= bits - 1) {
    n++;
  }
  return n;
}

static int of_thumb(unsigned first, unsigned second, size_t size) {
  int branch = core == M0 ? 2 : 3;
  if (size == 2) {
    unsigned top = first >> 12;
    if (top == 5 || top == 6 || top == 7 || top == 8 || top == 9 || (first >> 11) == 9) {
      return 2;
    }
    if (top == 12) { /* several registers */
      return 1 + ones(first & 0xff);
    }
    if ((first & 0xf600) == 0xb400) { /* push, pop */
      return 1 + ones(first & 0xff) + ((first & 0x100) ? branch : 0);
    }
    return top == 13 || (first >> 11) == 28 || (first & 0xff00) == 0x4700 ? branch : 1;
  }
  if ((first & 0xf800) == 0xf000 && (second & 0x8000)) { /* bl, b.w */
    return 3;
  }
  if ((first & 0xfe40) == 0xe800) { /* ldm, stm */
    return 1 + ones(second);
  }
  if ((first & 0xfe00) == 0xf800 || (first & 0xfe00) == 0xe800) {
    return 2;
  }
  if ((first & 0xff00) == 0xed00 || (first & 0xff00) == 0xec00) { /* of reals: one, or several */
    return (first & 0xff20) == 0xed00 ? 2 : 1 + (int)(second & 0xff);
  }
  if ((first & 0xffb0) == 0xee80 || ((first & 0xffbf) == 0xeeb1 && (second & 0xc0) == 0xc0)) {
    return 14; /* vdiv, vsqrt */
  }
  return (first & 0xffd0) == 0xfb90 ? 7 : 1; /* sdiv, udiv */
}

static int of_riscv(unsigned word, size_t size) {
  unsigned low = word & 3, top = (word >> 13) & 7;
  if (size == 2) {
    if (low == 0 || (low == 2 && top != 0 && top != 4)) {
      return top < 4 ? 2 : 1;
    }
    return (low == 1 && (top == 1 || top >= 5)) || (low == 2 && top == 4 && !(word & 0x7c)) ? 3 : 1;
  }
  switch (word & 0x7f) {
    case 0x03:
      return 2;
    case 0x63:
    case 0x67:
    case 0x6f:
      return 3;
    case 0x33:
      return (word >> 25) == 1 && ((word >> 12) & 4) ? 8 : 1;
    default:
      return 1;
  }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  size_t k;
  (void)id;
  for (k = 0; k < qemu_plugin_tb_n_insns(block); k++) {
    struct qemu_plugin_insn *each = qemu_plugin_tb_get_insn(block, k);
    size_t size = qemu_plugin_insn_size(each);
    const uint8_t *data = qemu_plugin_insn_data(each);
    unsigned first = data[0] | data[1] << 8, second = size == 4 ? data[2] | data[3] << 8 : 0;
    int n = core == RISCV ? of_riscv(first | second << 16, size) : of_thumb(first, second, size);
    qemu_plugin_register_vcpu_insn_exec_inline(each, 0, &cycles, (uint64_t)n);
    qemu_plugin_register_vcpu_insn_exec_inline(each, 0, &instructions, 1);
  }
}

static void ended(qemu_plugin_id_t id, void *data) {
  (void)id;
  (void)data;
  fprintf(stderr, "cycles %llu instructions %llu\n", (unsigned long long)cycles, (unsigned long long)instructions);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  (void)info;
  core = argc && strstr(argv[0], "riscv") ? RISCV : argc && strstr(argv[0], "m4") ? M4 : M0;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, 0);
  return 0;
}
