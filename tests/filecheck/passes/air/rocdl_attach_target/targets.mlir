// RUN: tilewright opt --rocdl-attach-target="chip=gfx942 O=3 module=^a" --nvvm-attach-target=chip=sm_90 %s | filecheck %s
// RUN: tilewright opt --rocdl-attach-target="wave64=false fast l=x.bc,y.bc" %s | filecheck %s --check-prefix=FLAGS
// RUN: not tilewright opt --rocdl-attach-target="module=(" %s 2>&1 | filecheck %s --check-prefix=REGEX

// Targets are added to those that are there, in order; what is not asked for is left at its default.
// CHECK: gpu.module @a [#rocdl.target<O = 3, chip = "gfx942">, #nvvm.target<chip = "sm_90">] {
// CHECK: gpu.module @b [#nvvm.target<chip = "sm_90">] {
// FLAGS: gpu.module @a [#rocdl.target<flags = {fast, no_wave64}, link = ["x.bc", "y.bc"]>] {
// REGEX: error: for the --module option: '(' is no regular expression
gpu.module @a {
}
gpu.module @b [#nvvm.target<chip = "sm_90">] {
}
